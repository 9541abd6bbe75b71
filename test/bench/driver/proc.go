// The manager as a process, its metrics, and what it and the host use.

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// manager is one running process under test.
type manager struct {
	cmd         *exec.Cmd
	metricsAddr string
	healthAddr  string
	started     time.Time
	done        chan struct{}
	exited      time.Time
	log         string
}

var probe = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// startManager runs the template; placeholders: {metrics} {health} {metricsPort} {healthPort} {kubeconfig}.
func (b *bench) startManager(extra ...string) (*manager, error) {
	mp, err := freePort()
	if err != nil {
		return nil, err
	}
	hp, err := freePort()
	if err != nil {
		return nil, err
	}
	m := &manager{
		metricsAddr: fmt.Sprintf("127.0.0.1:%d", mp), healthAddr: fmt.Sprintf("127.0.0.1:%d", hp),
		done: make(chan struct{}),
	}
	fill := strings.NewReplacer("{metrics}", m.metricsAddr, "{health}", m.healthAddr, "{kubeconfig}", b.kubeconfig,
		"{metricsPort}", strconv.Itoa(mp), "{healthPort}", strconv.Itoa(hp))
	var args []string
	for _, a := range strings.Fields(b.template) {
		args = append(args, fill.Replace(a))
	}
	if len(args) == 0 {
		return nil, fmt.Errorf("--manager is empty")
	}
	args = append(args, extra...)
	b.serial++
	m.log = filepath.Join(b.logs, fmt.Sprintf("%s-%s-%d-%d.log", b.name, b.scenario, os.Getpid(), b.serial))
	out, err := os.Create(m.log)
	if err != nil {
		return nil, err
	}
	m.cmd = exec.Command(args[0], args[1:]...)
	m.cmd.Stdout, m.cmd.Stderr = out, out
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	m.started = time.Now()
	if err := m.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = m.cmd.Wait()
		m.exited = time.Now()
		out.Close()
		close(m.done)
	}()
	return m, nil
}

func (m *manager) pid() int { return m.cmd.Process.Pid }

// forgetPeak begins a new high-water mark of the memory: that of the first pass belongs to cold.
func (m *manager) forgetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", m.pid()), []byte("5"), 0)
}

func (m *manager) alive() error {
	select {
	case <-m.done:
		return fmt.Errorf("the manager exited: %v (log %s)", m.cmd.ProcessState, filepath.Base(m.log))
	default:
		return nil
	}
}

// stop sends SIGTERM, then SIGKILL after 20 s; it returns how long the process took.
func (m *manager) stop() time.Duration {
	t0 := time.Now()
	_ = m.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-m.done:
	case <-time.After(20 * time.Second):
		_ = m.cmd.Process.Kill()
		<-m.done
	}
	return m.exited.Sub(t0)
}

// waitHealth polls /path until 200.
func (m *manager) waitHealth(ctx context.Context, path string, every time.Duration) (time.Duration, error) {
	for {
		if err := m.alive(); err != nil {
			return 0, err
		}
		req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.healthAddr+path, nil)
		if res, err := probe.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, res.Body)
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return time.Since(m.started), nil
			}
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%s: %w", path, ctx.Err())
		case <-time.After(every):
		}
	}
}

type progress struct{ reconciles, errors, depth float64 }

// progress reads the controller's counters; a manager that is not listening yet has none.
func (m *manager) progress(ctx context.Context, controller string) (progress, error) {
	var p progress
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.metricsAddr+"/metrics", nil)
	res, err := probe.Do(req)
	if err != nil {
		return p, err
	}
	defer res.Body.Close()
	err = eachSample(res.Body, "", func(l map[string]string, v float64) {
		switch {
		case l["__name__"] == "controller_runtime_reconcile_total" && l["controller"] == controller:
			p.reconciles += v
			if l["result"] == "error" {
				p.errors += v
			}
		case l["__name__"] == "workqueue_depth" && l["name"] == controller:
			p.depth += v
		}
	})
	return p, err
}

// waitReconciled waits for at least n reconciles and an empty queue.
func (m *manager) waitReconciled(ctx context.Context, controller string, n int) (time.Duration, progress, error) {
	for {
		if err := m.alive(); err != nil {
			return 0, progress{}, err
		}
		p, err := m.progress(ctx, controller)
		if err == nil && p.reconciles >= float64(n) && p.depth == 0 {
			return time.Since(m.started), p, nil
		}
		select {
		case <-ctx.Done():
			return 0, p, fmt.Errorf("reconciled %v of %d, depth %v: %w", p.reconciles, n, p.depth, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// waitQuiet waits until the number of reconciles has not moved for d.
func (m *manager) waitQuiet(ctx context.Context, controller string, d time.Duration) error {
	last, since := -1.0, time.Now()
	for time.Since(since) < d {
		if err := m.alive(); err != nil {
			return err
		}
		p, err := m.progress(ctx, controller)
		if err == nil && (p.reconciles != last || p.depth != 0) {
			last, since = p.reconciles, time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not quiet: %w", ctx.Err())
		case <-time.After(250 * time.Millisecond):
		}
	}
	return nil
}

// eachSample parses the Prometheus text format; name "" passes every metric, its name as label __name__.
func eachSample(r io.Reader, name string, fn func(labels map[string]string, v float64)) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 64<<10), 1<<20)
	for sc.Scan() {
		line := sc.Text()
		if line == "" || line[0] == '#' || !strings.HasPrefix(line, name) {
			continue
		}
		i := strings.LastIndexByte(line, '}')
		rest, labels := line, map[string]string{}
		if i < 0 {
			f := strings.Fields(line)
			labels["__name__"], rest = f[0], strings.Join(f[1:], " ")
		} else {
			j := strings.IndexByte(line, '{')
			labels["__name__"], rest = line[:j], line[i+1:]
			body := line[j+1 : i]
			for body != "" {
				eq := strings.Index(body, `="`)
				if eq < 0 {
					break
				}
				end := eq + 2
				for end < len(body) && body[end] != '"' {
					if body[end] == '\\' {
						end++
					}
					end++
				}
				if end >= len(body) {
					break
				}
				labels[strings.Trim(body[:eq], ", ")] = body[eq+2 : end]
				body = body[end+1:]
			}
		}
		if name != "" && labels["__name__"] != name {
			continue
		}
		f := strings.Fields(rest)
		if len(f) == 0 {
			continue
		}
		if v, err := strconv.ParseFloat(f[0], 64); err == nil {
			fn(labels, v)
		}
	}
	return sc.Err()
}

const clockTicks = 100.0 // USER_HZ, fixed on Linux

// usage is the cost of a process and its descendants.
type usage struct {
	CPU   float64 // seconds, user and system
	RSS   float64 // MiB now
	Peak  float64 // MiB, sum of the high-water marks
	Procs int
}

func procUsage(root int) usage {
	var u usage
	if root <= 0 {
		return u
	}
	parent, cpu := map[int]int{}, map[int]float64{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		raw, err := os.ReadFile(d + "/stat")
		if err != nil {
			continue
		}
		s := string(raw)
		f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
		if len(f) < 15 {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(d))
		parent[pid], _ = strconv.Atoi(f[1])
		var ticks float64
		for _, x := range f[11:15] { // utime stime cutime cstime
			v, _ := strconv.ParseFloat(x, 64)
			ticks += v
		}
		cpu[pid] = ticks / clockTicks
	}
	for pid := range parent {
		in := pid == root
		for p := parent[pid]; !in && p > 1; p = parent[p] {
			in = p == root
		}
		if !in {
			continue
		}
		u.Procs++
		u.CPU += cpu[pid]
		raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		for line := range strings.Lines(string(raw)) {
			f := strings.Fields(line)
			if len(f) < 2 {
				continue
			}
			kb, _ := strconv.ParseFloat(f[1], 64)
			switch f[0] {
			case "VmRSS:":
				u.RSS += kb / 1024
			case "VmHWM:":
				u.Peak += kb / 1024
			}
		}
	}
	return u
}

// machine is a moment of the whole host, to tell our load from that of others.
type machine struct {
	at                          time.Time
	busy, steal                 float64
	driver, apiserver, etcd     float64
	apiserverRSS, apiserverPeak float64
}

func (b *bench) machineNow() machine {
	m := machine{at: time.Now()}
	raw, _ := os.ReadFile("/proc/stat")
	f := strings.Fields(strings.SplitN(string(raw), "\n", 2)[0])
	for i, x := range f[1:9] { // user nice system idle iowait irq softirq steal
		v, _ := strconv.ParseFloat(x, 64)
		switch i {
		case 3, 4:
		case 7:
			m.steal = v / clockTicks
		default:
			m.busy += v / clockTicks
		}
	}
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	m.driver = time.Duration(ru.Utime.Nano() + ru.Stime.Nano()).Seconds()
	api := procUsage(b.pidOf("apiserver"))
	m.apiserver, m.apiserverRSS, m.apiserverPeak = api.CPU, api.RSS, api.Peak
	m.etcd = procUsage(b.pidOf("etcd")).CPU
	return m
}

func (b *bench) pidOf(name string) int {
	if b.state == "" {
		return 0
	}
	raw, _ := os.ReadFile(filepath.Join(b.state, name+".pid"))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	return pid
}
