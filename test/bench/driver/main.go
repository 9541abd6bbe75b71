// Command driver measures a WebApp manager, whatever it is written in, against a real kube-apiserver: it runs one scenario
// and prints what came of it as one JSON object. The manager is a command template; it must serve
// controller_runtime_reconcile_total and workqueue_depth on /metrics, and /healthz and /readyz on its health address.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

const sigterm = syscall.SIGTERM

type bench struct {
	kube       *kube
	kubeconfig string
	template   string
	name       string
	scenario   string
	controller string
	prefix     string
	logs       string
	state      string
	electArgs  string
	leaseNS    string
	leaseName  string
	n, m       int
	probes     int
	terms      int
	kills      int
	runs       int
	idleFor    time.Duration
	rate       float64
	churnFor   time.Duration
	serial     int
	headless   bool
}

func main() {
	runtime.LockOSThread() // Pdeathsig follows the thread that started the child
	var b bench
	flag.StringVar(&b.scenario, "scenario", "", "startup, create, raw, seed, cold, latency, failover, idle, churn or clean")
	flag.StringVar(&b.kubeconfig, "kubeconfig", os.Getenv("KUBECONFIG"), "cluster (client certificates)")
	flag.StringVar(&b.template, "manager", "", "command with {metrics} {health} {kubeconfig} (or {metricsPort} {healthPort})")
	flag.StringVar(&b.name, "name", "manager", "name of the manager in the results and logs")
	flag.StringVar(&b.controller, "controller", "webapp", "value of the controller label in its metrics")
	flag.StringVar(&b.prefix, "prefix", "w", "name prefix of the seeded WebApps")
	flag.StringVar(&b.logs, "logs", os.TempDir(), "folder for the managers' output")
	flag.StringVar(&b.state, "state", "", "folder with etcd.pid and apiserver.pid, for the CPU and RSS of the servers")
	flag.StringVar(&b.electArgs, "elect-args", "--leader-elect", "arguments that turn leader election on")
	flag.StringVar(&b.leaseNS, "lease-namespace", "default", "namespace of the Lease")
	flag.StringVar(&b.leaseName, "lease-name", "webapp-controller.apps.kubedojo.io", "name of the Lease")
	flag.IntVar(&b.n, "n", 10000, "converged WebApps (seed, create, cold, latency, failover, idle, churn); only a label elsewhere")
	flag.IntVar(&b.m, "m", 2000, "WebApps to create (create, raw)")
	flag.IntVar(&b.probes, "probes", 300, "probes of each sort (latency)")
	flag.IntVar(&b.terms, "terms", 10, "SIGTERM hand-overs (failover)")
	flag.IntVar(&b.kills, "kills", 3, "SIGKILL hand-overs (failover)")
	flag.IntVar(&b.runs, "runs", 10, "starts (startup)")
	flag.DurationVar(&b.idleFor, "idle", time.Minute, "length of idle")
	flag.Float64Var(&b.rate, "rate", 1000, "updates a second (churn)")
	flag.DurationVar(&b.churnFor, "churn", time.Minute, "how long updates are sent (churn)")
	flag.BoolVar(&b.headless, "headless", false, "make the Services beforehand without cluster IPs (seed, create, raw)")
	timeout := flag.Duration("timeout", 5*time.Minute, "limit for the run")
	flag.Parse()

	scenario := map[string]func(context.Context) (result, error){
		"seed": b.seed, "cold": b.cold, "create": b.create, "raw": b.raw, "latency": b.latency,
		"failover": b.failover, "startup": b.startup, "idle": b.idle, "churn": b.churn, "clean": b.cleanUp,
	}[b.scenario]
	if scenario == nil {
		fmt.Fprintf(os.Stderr, "driver: no scenario %q\n", b.scenario)
		os.Exit(2)
	}
	k, err := newKube(b.kubeconfig)
	if err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
	b.kube = k

	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	r, err := scenario(ctx)
	cancel()
	if r == nil {
		r = result{}
	}
	r["scenario"], r["name"], r["n"], r["at"] = b.scenario, b.name, b.n, time.Now().UTC().Format(time.RFC3339)
	if err != nil {
		r["error"] = err.Error()
	}
	line, _ := json.Marshal(r)
	fmt.Println(string(line))
	if err != nil {
		os.Exit(1)
	}
}
