// The reconciler: finalizer, Deployment, Service, status; each written only where something differs from the cache.

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer  = "apps.kubedojo.io/finalizer"
	fieldOwner = client.FieldOwner("webapp-controller")

	labelApp       = "app"
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "webapp-controller"

	phasePending   = "Pending"
	phaseDeploying = "Deploying"
	phaseRunning   = "Running"

	conditionAvailable = "Available"
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

	if !app.DeletionTimestamp.IsZero() {
		if !controllerutil.ContainsFinalizer(&app, finalizer) {
			return ctrl.Result{}, nil
		}
		// Children go with their owner (garbage collector); there is nothing external to clean up.
		base := app.DeepCopy()
		controllerutil.RemoveFinalizer(&app, finalizer)
		err := r.Patch(ctx, &app, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}), fieldOwner)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	if !controllerutil.ContainsFinalizer(&app, finalizer) {
		base := app.DeepCopy()
		controllerutil.AddFinalizer(&app, finalizer)
		if err := r.Patch(ctx, &app, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}), fieldOwner); err != nil {
			return ctrl.Result{}, ignoreStale(err)
		}
	}

	dep, err := r.ensureDeployment(ctx, &app)
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("deployment: %w", err)
	}
	if err := r.ensureService(ctx, &app); err != nil {
		return ctrl.Result{}, fmt.Errorf("service: %w", err)
	}

	want := desiredStatus(&app, dep)
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

// ensureDeployment applies the Deployment unless the cached one already has every field that we own.
// It returns the cached one, or nil when there is none yet.
func (r *webAppReconciler) ensureDeployment(ctx context.Context, app *WebApp) (*appsv1.Deployment, error) {
	var have appsv1.Deployment
	err := r.Get(ctx, client.ObjectKeyFromObject(app), &have)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, err
	}
	if err == nil && deploymentMatches(&have, app) {
		return &have, nil
	}
	labels := labelsFor(app)
	if applyErr := r.Apply(ctx, appsac.Deployment(app.Name, app.Namespace).
		WithLabels(labels).
		WithOwnerReferences(ownerRef(app)).
		WithSpec(appsac.DeploymentSpec().
			WithReplicas(app.Spec.Replicas).
			WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreac.PodTemplateSpec().
				WithLabels(labels).
				WithSpec(coreac.PodSpec().WithContainers(coreac.Container().
					WithName("app").
					WithImage(app.Spec.Image).
					WithPorts(coreac.ContainerPort().
						WithContainerPort(app.Spec.Port).
						WithProtocol(corev1.ProtocolTCP)))))),
		fieldOwner, client.ForceOwnership); applyErr != nil {
		return nil, applyErr
	}
	if err != nil {
		r.events.Eventf(app, nil, corev1.EventTypeNormal, "DeploymentCreated", "Create", "Created Deployment %s", app.Name)
		return nil, nil
	}
	return &have, nil
}

func (r *webAppReconciler) ensureService(ctx context.Context, app *WebApp) error {
	var have corev1.Service
	err := r.Get(ctx, client.ObjectKeyFromObject(app), &have)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	if err == nil && serviceMatches(&have, app) {
		return nil
	}
	applyErr := r.Apply(ctx, coreac.Service(app.Name, app.Namespace).
		WithLabels(labelsFor(app)).
		WithOwnerReferences(ownerRef(app)).
		WithSpec(coreac.ServiceSpec().
			WithSelector(map[string]string{labelApp: app.Name}).
			WithPorts(coreac.ServicePort().
				WithPort(app.Spec.Port).
				WithTargetPort(intstr.FromInt32(app.Spec.Port)).
				WithProtocol(corev1.ProtocolTCP))),
		fieldOwner, client.ForceOwnership)
	if applyErr == nil && err != nil {
		r.events.Eventf(app, nil, corev1.EventTypeNormal, "ServiceCreated", "Create", "Created Service %s", app.Name)
	}
	return applyErr
}

func deploymentMatches(d *appsv1.Deployment, app *WebApp) bool {
	labels := labelsFor(app)
	if !contains(d.Labels, labels) || !metav1.IsControlledBy(d, app) ||
		d.Spec.Replicas == nil || *d.Spec.Replicas != app.Spec.Replicas ||
		d.Spec.Selector == nil || !maps.Equal(d.Spec.Selector.MatchLabels, labels) ||
		!contains(d.Spec.Template.Labels, labels) {
		return false
	}
	i := slices.IndexFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "app" })
	if i < 0 {
		return false
	}
	c := &d.Spec.Template.Spec.Containers[i]
	return c.Image == app.Spec.Image && slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool {
		return p.ContainerPort == app.Spec.Port && p.Protocol == corev1.ProtocolTCP
	})
}

func serviceMatches(s *corev1.Service, app *WebApp) bool {
	return contains(s.Labels, labelsFor(app)) && metav1.IsControlledBy(s, app) &&
		maps.Equal(s.Spec.Selector, map[string]string{labelApp: app.Name}) &&
		slices.ContainsFunc(s.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Port == app.Spec.Port && p.TargetPort.IntVal == app.Spec.Port && p.Protocol == corev1.ProtocolTCP
		})
}

func desiredStatus(app *WebApp, dep *appsv1.Deployment) WebAppStatus {
	s := *app.Status.DeepCopy()
	s.ObservedGeneration = app.Generation
	cond := metav1.Condition{
		Type: conditionAvailable, Status: metav1.ConditionFalse, ObservedGeneration: app.Generation,
	}
	switch {
	case dep == nil:
		s.Phase, s.Replicas, s.ReadyReplicas = phasePending, 0, 0
		cond.Reason, cond.Message = "DeploymentPending", "the Deployment was just applied"
	case dep.Status.ObservedGeneration >= dep.Generation &&
		dep.Spec.Replicas != nil && *dep.Spec.Replicas == app.Spec.Replicas &&
		dep.Status.Replicas == app.Spec.Replicas &&
		dep.Status.UpdatedReplicas == app.Spec.Replicas &&
		dep.Status.AvailableReplicas == app.Spec.Replicas:
		s.Phase, s.Replicas, s.ReadyReplicas = phaseRunning, dep.Status.Replicas, dep.Status.ReadyReplicas
		cond.Status, cond.Reason, cond.Message = metav1.ConditionTrue, "AllReplicasAvailable", "every replica is available"
	default:
		s.Phase, s.Replicas, s.ReadyReplicas = phaseDeploying, dep.Status.Replicas, dep.Status.ReadyReplicas
		cond.Reason, cond.Message = "RollingOut", "the Deployment is rolling out"
	}
	meta.SetStatusCondition(&s.Conditions, cond)
	return s
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

// ignoreStale drops the errors that only say that the cache was behind: the event that brings it up to date
// queues the object again.
func ignoreStale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
