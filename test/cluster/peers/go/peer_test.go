package peers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

var (
	config *rest.Config
	env    *envtest.Environment
	kinds  = scheme.Scheme
)

func TestMain(m *testing.M) {
	log.SetLogger(zap.New(zap.WriteTo(io.Discard)))
	kinds.AddKnownTypes(group, &Widget{}, &WidgetList{})
	metav1.AddToGroupVersion(kinds, group)
	env = &envtest.Environment{CRDDirectoryPaths: []string{"crds"}, ErrorIfCRDPathMissing: true}
	began := time.Now()
	var err error
	if config, err = env.Start(); err != nil {
		fmt.Println("envtest does not start:", err)
		os.Exit(1)
	}
	fmt.Printf("envtest is ready in %d ms\n", time.Since(began).Milliseconds())
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Println("envtest does not stop:", err)
		code = 1
	}
	os.Exit(code)
}

// namespace creates a namespace for a test.
func namespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "peer-"}}
	must(t, c.Create(t.Context(), ns))
	return ns.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("timeout: ", what)
		}
	}
}

// recorder notes the content types of answers.
type recorder struct {
	base  http.RoundTripper
	types map[string]int
}

func (r recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	a, err := r.base.RoundTrip(q)
	if err == nil {
		r.types[a.Header.Get("Content-Type")]++
	}
	return a, err
}

func TestTypedClientInProtobuf(t *testing.T) {
	types := map[string]int{}
	cfg := rest.CopyConfig(config)
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf
	cfg.Wrap(func(base http.RoundTripper) http.RoundTripper { return recorder{base, types} })
	set, err := kubernetes.NewForConfig(cfg)
	must(t, err)
	c, err := client.New(config, client.Options{Scheme: kinds})
	must(t, err)
	ns := namespace(t, c)
	ctx := t.Context()
	maps := set.CoreV1().ConfigMaps(ns)
	watch, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=a"})
	must(t, err)
	made, err := maps.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"l": "ü"}},
		Data:       map[string]string{"k": "v"},
		BinaryData: map[string][]byte{"b": {0, 255}},
	}, metav1.CreateOptions{})
	must(t, err)
	if made.UID == "" || made.CreationTimestamp.IsZero() || string(made.BinaryData["b"]) != "\x00\xff" {
		t.Fatal("incomplete: ", made)
	}
	stale := made.DeepCopy()
	made.Data["k"] = "w"
	made, err = maps.Update(ctx, made, metav1.UpdateOptions{})
	must(t, err)
	if _, err := maps.Update(ctx, stale, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Fatal("not a conflict: ", err)
	}
	if _, err := maps.Get(ctx, "none", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatal("found: ", err)
	}
	if _, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "NO"}}, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Fatal("not invalid: ", err)
	}
	must(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	for _, want := range []string{"ADDED", "MODIFIED", "DELETED"} {
		select {
		case event := <-watch.ResultChan():
			if m, ok := event.Object.(*corev1.ConfigMap); string(event.Type) != want || !ok || m.Name == "" {
				t.Fatal("event: ", want, event)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("no event: ", want)
		}
	}
	for name := range types {
		if !strings.HasPrefix(name, runtime.ContentTypeProtobuf) {
			t.Fatal("not protobuf: ", types)
		}
	}
}

func TestServerSideApply(t *testing.T) {
	set, err := kubernetes.NewForConfig(config)
	must(t, err)
	c, err := client.New(config, client.Options{Scheme: kinds})
	must(t, err)
	ns := namespace(t, c)
	wanted := func(replicas int32, image string) *appsapply.DeploymentApplyConfiguration {
		labels := map[string]string{"app": "web"}
		return appsapply.Deployment("web", ns).WithSpec(appsapply.DeploymentSpec().
			WithReplicas(replicas).
			WithSelector(metaapply.LabelSelector().WithMatchLabels(labels)).
			WithTemplate(coreapply.PodTemplateSpec().WithLabels(labels).
				WithSpec(coreapply.PodSpec().WithContainers(coreapply.Container().WithName("c").WithImage(image)))))
	}
	deployments := set.AppsV1().Deployments(ns)
	_, err = deployments.Apply(t.Context(), wanted(2, "nginx:1"), metav1.ApplyOptions{FieldManager: "one"})
	must(t, err)
	_, err = deployments.Apply(t.Context(), wanted(3, "nginx:1"), metav1.ApplyOptions{FieldManager: "two"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "one"`) {
		t.Fatal("not a conflict: ", err)
	}
	forced, err := deployments.Apply(t.Context(), wanted(3, "nginx:1"), metav1.ApplyOptions{FieldManager: "two", Force: true})
	must(t, err)
	if *forced.Spec.Replicas != 3 || forced.Generation != 2 {
		t.Fatal("not applied: ", forced)
	}
	// The same with controller-runtime's client and a custom kind.
	must(t, c.Create(t.Context(), &Widget{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: ns}, Spec: WidgetSpec{Text: "a"}}))
	var w Widget
	must(t, c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "w"}, &w))
	if w.Spec.Size != 3 {
		t.Fatal("no default: ", w.Spec)
	}
	if err := c.Create(t.Context(), &Widget{ObjectMeta: metav1.ObjectMeta{Name: "x", Namespace: ns}}); !apierrors.IsInvalid(err) {
		t.Fatal("not invalid: ", err)
	}
}

// reconcile copies the text of a Widget to a ConfigMap.
func reconcile(c client.Client) func(context.Context, ctrl.Request) (ctrl.Result, error) {
	return func(ctx context.Context, q ctrl.Request) (ctrl.Result, error) {
		var w Widget
		if err := c.Get(ctx, q.NamespacedName, &w); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: w.Namespace}}
		_, err := controllerutil.CreateOrUpdate(ctx, c, m, func() error {
			m.Data = map[string]string{"text": w.Spec.Text}
			return controllerutil.SetControllerReference(&w, m, c.Scheme())
		})
		if err != nil {
			return ctrl.Result{}, err
		}
		w.Status.Copies = w.Spec.Size
		return ctrl.Result{}, c.Status().Update(ctx, &w)
	}
}

type reconciler func(context.Context, ctrl.Request) (ctrl.Result, error)

func (r reconciler) Reconcile(ctx context.Context, q ctrl.Request) (ctrl.Result, error) {
	return r(ctx, q)
}

func TestManagerWithLeaderElection(t *testing.T) {
	c, err := client.New(config, client.Options{Scheme: kinds})
	must(t, err)
	ns := namespace(t, c)
	start := func() (manager.Manager, context.CancelFunc, chan error) {
		ctx, stop := context.WithCancel(context.Background())
		// Both managers are in one process, so the name of the controller is not unique.
		sameName := true
		m, err := ctrl.NewManager(config, ctrl.Options{
			Scheme: kinds, Metrics: metricsserver.Options{BindAddress: "0"},
			LeaderElection: true, LeaderElectionID: "peers", LeaderElectionNamespace: ns, LeaderElectionReleaseOnCancel: true,
		})
		must(t, err)
		must(t, ctrl.NewControllerManagedBy(m).For(&Widget{}).Owns(&corev1.ConfigMap{}).
			WithOptions(controller.Options{SkipNameValidation: &sameName}).Complete(reconciler(reconcile(m.GetClient()))))
		ended := make(chan error, 1)
		go func() { ended <- m.Start(ctx) }()
		return m, stop, ended
	}
	first, stopFirst, firstEnded := start()
	<-first.Elected()
	for i := range 20 {
		must(t, c.Create(t.Context(), &Widget{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("w", i), Namespace: ns}, Spec: WidgetSpec{Text: "a"},
		}))
	}
	copied := func(text string) func() bool {
		return func() bool {
			var list corev1.ConfigMapList
			must(t, c.List(t.Context(), &list, client.InNamespace(ns)))
			n := 0
			for _, m := range list.Items {
				if m.Data["text"] == text && metav1.IsControlledBy(&m, &metav1.ObjectMeta{UID: m.OwnerReferences[0].UID}) {
					n++
				}
			}
			return n == 20
		}
	}
	eventually(t, "20 copies", copied("a"))
	second, stopSecond, secondEnded := start()
	select {
	case <-second.Elected():
		t.Fatal("two leaders")
	case <-time.After(time.Second):
	}
	stopFirst()
	must(t, <-firstEnded)
	select {
	case <-second.Elected():
	case <-time.After(20 * time.Second):
		t.Fatal("no second leader")
	}
	for i := range 20 {
		must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
			var w Widget
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: fmt.Sprint("w", i)}, &w); err != nil {
				return err
			}
			w.Spec.Text = "b"
			return c.Update(t.Context(), &w)
		}))
	}
	eventually(t, "20 changed copies", copied("b"))
	// The second manager repairs what another client deletes.
	must(t, c.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(ns)))
	eventually(t, "20 new copies", copied("b"))
	stopSecond()
	must(t, <-secondEnded)
}

func TestUsersOfCertificates(t *testing.T) {
	if os.Getenv("USE_EXISTING_CLUSTER") == "true" {
		t.Skip("an existing cluster has other users")
	}
	admin, err := client.New(config, client.Options{Scheme: kinds})
	must(t, err)
	ns := namespace(t, admin)
	user, err := env.AddUser(envtest.User{Name: "ann", Groups: []string{"devs"}}, nil)
	must(t, err)
	ann, err := client.New(user.Config(), client.Options{Scheme: kinds})
	must(t, err)
	err = ann.List(t.Context(), &corev1.PodList{}, client.InNamespace(ns))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "ann" cannot list resource "pods"`) {
		t.Fatal("not forbidden: ", err)
	}
	must(t, admin.Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "devs", Namespace: ns},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list"}}},
	}))
	must(t, admin.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "devs", Namespace: ns},
		Subjects:   []rbacv1.Subject{{Kind: "Group", Name: "devs", APIGroup: rbacv1.GroupName}},
		RoleRef:    rbacv1.RoleRef{Kind: "Role", Name: "devs", APIGroup: rbacv1.GroupName},
	}))
	eventually(t, "the permission", func() bool {
		return ann.List(t.Context(), &appsv1.DeploymentList{}, client.InNamespace(ns)) == nil
	})
}
