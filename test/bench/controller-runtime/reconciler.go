// The reconciler: Deployment, Service, PodDisruptionBudget, status; each written only where something differs from the cache.
//
// For a WebApp with image, replicas and port it writes the same fields as Homeostat. It knows nothing of pods, autoscalers, or of the
// other fields of a spec.

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyac "k8s.io/client-go/applyconfigurations/policy/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

const (
	fieldOwner = client.FieldOwner("webapp-controller")

	labelApp       = "app"
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "webapp-controller"

	conditionReady           = "Ready"
	conditionDeploymentReady = "DeploymentReady"
	conditionServiceReady    = "ServiceReady"
	conditionReconciling     = "Reconciling"
)

// What Homeostat sets in every Deployment and PodDisruptionBudget.
const (
	maxSurge          = "25%"
	gracePeriod       = int64(30)
	drainSeconds      = int64(5)
	probePeriod       = int32(2)
	probeTimeout      = int32(1)
	probeSuccesses    = int32(1)
	probeFailures     = int32(3)
	budgetUnavailable = int32(1)
)

type webAppReconciler struct {
	client.Client
	events  events.EventRecorder
	workers int
	warmup  bool
}

func (r *webAppReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&WebApp{}).
		Owns(&appsv1.Deployment{}).
		Owns(&corev1.Service{}).
		Owns(&policyv1.PodDisruptionBudget{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: r.workers,
			EnableWarmup:            &r.warmup,
		}).
		Complete(r)
}

func (r *webAppReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var app WebApp
	if err := r.Get(ctx, req.NamespacedName, &app); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	// Children go with their owner (garbage collector); there is nothing external to clean up.
	if !app.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}

	var created []string
	seen, isNew, err := r.ensureDeployment(ctx, &app)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("deployment: %w", err)
	}
	if isNew {
		created = append(created, "Deployment "+app.Name)
	}
	if isNew, err = r.ensureService(ctx, &app); err != nil {
		return ctrl.Result{}, fmt.Errorf("service: %w", err)
	}
	if isNew {
		created = append(created, "Service "+app.Name)
	}
	if isNew, err = r.ensureBudget(ctx, &app); err != nil {
		return ctrl.Result{}, fmt.Errorf("budget: %w", err)
	}
	if isNew {
		created = append(created, "PodDisruptionBudget "+app.Name)
	}
	if len(created) > 0 {
		r.events.Eventf(&app, nil, corev1.EventTypeNormal, "Created", "Create", "Created %s", strings.Join(created, ", "))
	}

	want := desiredStatus(&app, seen)
	if equality.Semantic.DeepEqual(app.Status, want) {
		return ctrl.Result{}, nil
	}
	base := app.DeepCopy()
	app.Status = want
	if err := r.Status().Patch(ctx, &app, client.MergeFrom(base), fieldOwner); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	return ctrl.Result{}, nil
}

// rollout is what the status of a WebApp says of its Deployment.
type rollout struct {
	isJudged                            bool // kube-controller-manager has seen the present spec
	replicas, updated, ready, available int32
}

// ensureDeployment applies the Deployment unless the cached one already has every field that we own.
// It returns what is known of its pods, and whether it is new.
func (r *webAppReconciler) ensureDeployment(ctx context.Context, app *WebApp) (rollout, bool, error) {
	var have appsv1.Deployment
	err := r.Get(ctx, client.ObjectKeyFromObject(app), &have)
	if err != nil && !apierrors.IsNotFound(err) {
		return rollout{}, false, err
	}
	s := &have.Status
	seen := rollout{s.ObservedGeneration >= have.Generation, s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas}
	if err == nil && deploymentMatches(&have, app) {
		return seen, false, nil
	}
	labels := labelsFor(app)
	want := appsac.Deployment(app.Name, app.Namespace).
		WithLabels(labels).
		WithOwnerReferences(ownerRef(app)).
		WithSpec(appsac.DeploymentSpec().
			WithReplicas(app.Spec.Replicas).
			WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
			WithStrategy(appsac.DeploymentStrategy().
				WithType(appsv1.RollingUpdateDeploymentStrategyType).
				WithRollingUpdate(appsac.RollingUpdateDeployment().
					WithMaxUnavailable(intstr.FromInt32(0)).
					WithMaxSurge(intstr.FromString(maxSurge)))).
			WithTemplate(coreac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(coreac.PodSpec().
					WithEnableServiceLinks(false).
					WithSecurityContext(coreac.PodSecurityContext().
						WithSeccompProfile(coreac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault))).
					WithTerminationGracePeriodSeconds(gracePeriod).
					WithContainers(coreac.Container().
						WithName("app").
						WithImage(app.Spec.Image).
						WithPorts(coreac.ContainerPort().
							WithContainerPort(app.Spec.Port).
							WithProtocol(corev1.ProtocolTCP)).
						WithReadinessProbe(coreac.Probe().
							WithTCPSocket(coreac.TCPSocketAction().WithPort(intstr.FromInt32(app.Spec.Port))).
							WithPeriodSeconds(probePeriod).
							WithTimeoutSeconds(probeTimeout).
							WithSuccessThreshold(probeSuccesses).
							WithFailureThreshold(probeFailures)).
						WithSecurityContext(coreac.SecurityContext().WithAllowPrivilegeEscalation(false)).
						WithTerminationMessagePolicy(corev1.TerminationMessageFallbackToLogsOnError).
						WithLifecycle(coreac.Lifecycle().
							WithPreStop(coreac.LifecycleHandler().
								WithSleep(coreac.SleepAction().WithSeconds(drainSeconds))))))))
	if applyErr := r.Apply(ctx, want, fieldOwner, client.ForceOwnership); applyErr != nil {
		return rollout{}, false, applyErr
	}
	// Apply decodes the answer into want.
	seen.isJudged = want.Generation != nil && s.ObservedGeneration >= *want.Generation
	return seen, err != nil, nil
}

// ensureService returns whether the Service is new.
func (r *webAppReconciler) ensureService(ctx context.Context, app *WebApp) (bool, error) {
	var have corev1.Service
	err := r.Get(ctx, client.ObjectKeyFromObject(app), &have)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	if err == nil && serviceMatches(&have, app) {
		return false, nil
	}
	applyErr := r.Apply(ctx, coreac.Service(app.Name, app.Namespace).
		WithLabels(labelsFor(app)).
		WithOwnerReferences(ownerRef(app)).
		WithSpec(coreac.ServiceSpec().
			WithType(corev1.ServiceTypeClusterIP).
			WithSelector(labelsFor(app)).
			WithPorts(coreac.ServicePort().
				WithPort(app.Spec.Port).
				WithTargetPort(intstr.FromInt32(app.Spec.Port)).
				WithProtocol(corev1.ProtocolTCP))),
		fieldOwner, client.ForceOwnership)
	return applyErr == nil && err != nil, applyErr
}

// ensureBudget returns whether the PodDisruptionBudget is new. Below two replicas there is none.
func (r *webAppReconciler) ensureBudget(ctx context.Context, app *WebApp) (bool, error) {
	var have policyv1.PodDisruptionBudget
	err := r.Get(ctx, client.ObjectKeyFromObject(app), &have)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, err
	}
	if app.Spec.Replicas < 2 {
		if err != nil || !metav1.IsControlledBy(&have, app) {
			return false, nil
		}
		return false, client.IgnoreNotFound(r.Delete(ctx, &have))
	}
	if err == nil && budgetMatches(&have, app) {
		return false, nil
	}
	labels := labelsFor(app)
	applyErr := r.Apply(ctx, policyac.PodDisruptionBudget(app.Name, app.Namespace).
		WithLabels(labels).
		WithOwnerReferences(ownerRef(app)).
		WithSpec(policyac.PodDisruptionBudgetSpec().
			WithMaxUnavailable(intstr.FromInt32(budgetUnavailable)).
			WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
			WithUnhealthyPodEvictionPolicy(policyv1.AlwaysAllow)),
		fieldOwner, client.ForceOwnership)
	return applyErr == nil && err != nil, applyErr
}

func deploymentMatches(d *appsv1.Deployment, app *WebApp) bool {
	labels := labelsFor(app)
	if !contains(d.Labels, labels) || !metav1.IsControlledBy(d, app) ||
		d.Spec.Replicas == nil || *d.Spec.Replicas != app.Spec.Replicas ||
		d.Spec.Selector == nil || !maps.Equal(d.Spec.Selector.MatchLabels, labels) ||
		!strategyMatches(&d.Spec.Strategy) || !contains(d.Spec.Template.Labels, labels) {
		return false
	}
	pod := &d.Spec.Template.Spec
	if pod.EnableServiceLinks == nil || *pod.EnableServiceLinks ||
		pod.TerminationGracePeriodSeconds == nil || *pod.TerminationGracePeriodSeconds != gracePeriod ||
		pod.SecurityContext == nil || pod.SecurityContext.SeccompProfile == nil ||
		pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		return false
	}
	i := slices.IndexFunc(pod.Containers, func(c corev1.Container) bool { return c.Name == "app" })
	if i < 0 {
		return false
	}
	c := &pod.Containers[i]
	return c.Image == app.Spec.Image && probeMatches(c.ReadinessProbe, app.Spec.Port) &&
		c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError &&
		c.SecurityContext != nil && c.SecurityContext.AllowPrivilegeEscalation != nil && !*c.SecurityContext.AllowPrivilegeEscalation &&
		c.Lifecycle != nil && c.Lifecycle.PreStop != nil && c.Lifecycle.PreStop.Sleep != nil &&
		c.Lifecycle.PreStop.Sleep.Seconds == drainSeconds &&
		slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
			return p.ContainerPort == app.Spec.Port && p.Protocol == corev1.ProtocolTCP
		})
}

func strategyMatches(s *appsv1.DeploymentStrategy) bool {
	u := s.RollingUpdate
	return s.Type == appsv1.RollingUpdateDeploymentStrategyType && u != nil &&
		u.MaxUnavailable != nil && *u.MaxUnavailable == intstr.FromInt32(0) &&
		u.MaxSurge != nil && *u.MaxSurge == intstr.FromString(maxSurge)
}

func probeMatches(p *corev1.Probe, port int32) bool {
	return p != nil && p.TCPSocket != nil && p.TCPSocket.Port == intstr.FromInt32(port) &&
		p.PeriodSeconds == probePeriod && p.TimeoutSeconds == probeTimeout &&
		p.SuccessThreshold == probeSuccesses && p.FailureThreshold == probeFailures
}

func serviceMatches(s *corev1.Service, app *WebApp) bool {
	labels := labelsFor(app)
	return contains(s.Labels, labels) && metav1.IsControlledBy(s, app) &&
		s.Spec.Type == corev1.ServiceTypeClusterIP && maps.Equal(s.Spec.Selector, labels) &&
		slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Port == app.Spec.Port && p.TargetPort.IntVal == app.Spec.Port && p.Protocol == corev1.ProtocolTCP
		})
}

func budgetMatches(b *policyv1.PodDisruptionBudget, app *WebApp) bool {
	labels := labelsFor(app)
	return contains(b.Labels, labels) && metav1.IsControlledBy(b, app) &&
		b.Spec.MaxUnavailable != nil && *b.Spec.MaxUnavailable == intstr.FromInt32(budgetUnavailable) &&
		b.Spec.Selector != nil && maps.Equal(b.Spec.Selector.MatchLabels, labels) &&
		b.Spec.UnhealthyPodEvictionPolicy != nil && *b.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
}

// desiredStatus is the status that Homeostat reports while the pods have no trouble.
func desiredStatus(app *WebApp, seen rollout) WebAppStatus {
	s := *app.Status.DeepCopy()
	wasComplete := isComplete(app)
	s.ObservedGeneration = app.Generation
	s.Replicas, s.UpdatedReplicas = seen.replicas, seen.updated
	s.ReadyReplicas, s.AvailableReplicas = seen.ready, seen.available
	s.Selector = labelManagedBy + "=" + managedBy + "," + labelApp + "=" + app.Name

	set := func(kind string, status metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&s.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: app.Generation,
		})
	}
	status, reason, message := deploymentFinding(app, seen, wasComplete)
	isReady := status == metav1.ConditionTrue
	if isReady {
		set(conditionReady, status, reason, message)
	} else {
		set(conditionReady, status, "ReplicasNotReady", message)
	}
	set(conditionDeploymentReady, status, reason, message)
	set(conditionServiceReady, metav1.ConditionTrue, "Available", fmt.Sprintf("Service %s offers port %d", app.Name, app.Spec.Port))
	if isReady {
		meta.RemoveStatusCondition(&s.Conditions, conditionReconciling)
	} else {
		set(conditionReconciling, metav1.ConditionTrue, reason, message)
	}

	switch {
	case isReady && app.Spec.Replicas == 0:
		s.Phase = "Stopped"
	case isReady:
		s.Phase = "Running"
	case wasComplete && seen.available < app.Spec.Replicas:
		s.Phase = "Degraded"
	case seen.ready > 0:
		s.Phase = "Deploying"
	default:
		s.Phase = "Pending"
	}
	return s
}

// deploymentFinding is the condition DeploymentReady.
func deploymentFinding(app *WebApp, seen rollout, wasComplete bool) (status metav1.ConditionStatus, reason, message string) {
	wanted := app.Spec.Replicas
	if !seen.isJudged {
		if c := meta.FindStatusCondition(app.Status.Conditions, conditionDeploymentReady); wasComplete && c.Status == metav1.ConditionTrue {
			return c.Status, c.Reason, c.Message
		}
		return metav1.ConditionUnknown, "RolloutInProgress", "the rollout of the present spec has not begun"
	}
	ready := fmt.Sprintf("%d/%d ready", seen.ready, wanted)
	switch {
	case seen.updated == seen.replicas && seen.replicas == wanted && seen.available == wanted && wanted == 0:
		return metav1.ConditionTrue, "ScaledToZero", ready + ": spec.replicas is 0"
	case seen.updated == seen.replicas && seen.replicas == wanted && seen.available == wanted:
		return metav1.ConditionTrue, "AllReplicasReady", ready
	case seen.updated < wanted || seen.replicas > seen.updated:
		message := fmt.Sprintf("%s: %d of %d pods run the present spec", ready, seen.updated, wanted)
		if seen.replicas > seen.updated {
			message += ", the old revision still serves"
		}
		return metav1.ConditionFalse, "RolloutInProgress", message
	default:
		return metav1.ConditionFalse, "ReplicasNotReady", ready
	}
}

// isComplete is whether all pods of this generation were there before.
func isComplete(app *WebApp) bool {
	c := meta.FindStatusCondition(app.Status.Conditions, conditionDeploymentReady)
	return (app.Status.Phase == "Running" || app.Status.Phase == "Degraded") && c != nil && c.ObservedGeneration == app.Generation
}

func (in *WebAppStatus) DeepCopy() *WebAppStatus {
	out := new(WebAppStatus)
	in.DeepCopyInto(out)
	return out
}

// labelsFor is also the selector of the Deployment, as it is Homeostat's: selectors can't change, so that each manager could
// otherwise not take over what the other one made.
func labelsFor(app *WebApp) map[string]string {
	return map[string]string{labelApp: app.Name, labelManagedBy: managedBy}
}

func ownerRef(app *WebApp) *metaac.OwnerReferenceApplyConfiguration {
	return metaac.OwnerReference().
		WithAPIVersion(GroupVersion.String()).WithKind("WebApp").
		WithName(app.Name).WithUID(app.UID).
		WithController(true).WithBlockOwnerDeletion(true)
}

func contains(have, want map[string]string) bool {
	for k, v := range want {
		if have[k] != v {
			return false
		}
	}
	return true
}
