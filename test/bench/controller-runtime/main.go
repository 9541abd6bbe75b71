// Command peer is what Homeostat is measured against: a WebApp controller on sigs.k8s.io/controller-runtime, tuned the way
// a careful kubebuilder user would tune it: no client-side rate limit, 16 workers, warm standby, caches without
// managedFields, protobuf for built-in kinds, and the Lease released at the end.
package main

import (
	"errors"
	"flag"
	"net/http"
	"os"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	var (
		metricsAddr = flag.String("metrics-bind-address", ":8080", "address of the metrics endpoint")
		healthAddr  = flag.String("health-probe-bind-address", ":8081", "address of /healthz and /readyz")
		elect       = flag.Bool("leader-elect", false, "only the holder of the Lease reconciles")
		electNS     = flag.String("leader-election-namespace", "default", "namespace of the Lease")
		electID     = flag.String("leader-election-id", "webapp-controller.apps.kubedojo.io", "name of the Lease")
		workers     = flag.Int("workers", 16, "reconciles at a time")
		warmup      = flag.Bool("warmup", true, "fill the caches and the queue before the lease is won")
		ryw         = flag.Bool("read-your-writes", false, "cached reads wait for own writes (experimental in v0.25)")
	)
	zapOpts := zap.Options{}
	zapOpts.BindFlags(flag.CommandLine)
	flag.Parse() // --kubeconfig comes with ctrl.GetConfig
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&zapOpts)))
	log := ctrl.Log.WithName("setup")

	fail := func(what string, err error) {
		if err != nil {
			log.Error(err, what)
			os.Exit(1)
		}
	}

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(schemeBuilder.AddToScheme(scheme))

	cfg, err := ctrl.GetConfig()
	fail("kubeconfig", err)
	cfg.QPS = -1

	lease, renew, retry := 15*time.Second, 10*time.Second, 2*time.Second
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: *metricsAddr},
		HealthProbeBindAddress:        *healthAddr,
		LeaderElection:                *elect,
		LeaderElectionID:              *electID,
		LeaderElectionNamespace:       *electNS,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		Client:                        client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: ryw}},
	})
	fail("manager", err)

	r := &webAppReconciler{Client: mgr.GetClient(), events: mgr.GetEventRecorder("webapp-controller"), workers: *workers, warmup: *warmup}
	fail("controller", r.setup(mgr))
	fail("healthz", mgr.AddHealthzCheck("ping", healthz.Ping))
	fail("readyz", mgr.AddReadyzCheck("caches", cachesSynced(mgr)))
	fail("run", mgr.Start(ctrl.SetupSignalHandler()))
}

// cachesSynced is OK once every informer that the controller reads has synced, leader or not.
func cachesSynced(mgr manager.Manager) healthz.Checker {
	kinds := []client.Object{&WebApp{}, &appsv1.Deployment{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}}
	return func(req *http.Request) error {
		for _, kind := range kinds {
			inf, err := mgr.GetCache().GetInformer(req.Context(), kind, cache.BlockUntilSynced(false))
			if err != nil {
				return err
			}
			if !inf.HasSynced() {
				return errors.New("caches not synced")
			}
		}
		return nil
	}
}
