// churn: updates at a steady rate, and how long each takes to reach the child.

package main

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// senders is how many updates the driver has under way at most.
const senders = 32

// drain is how long the driver waits after the last update for the children that are still missing.
const drain = 2 * time.Minute

type update struct {
	serial int64
	sent   time.Time
}

// updates are those whose child is not seen yet, by the key of their WebApp in the order sent.
type updates struct {
	mu         sync.Mutex
	waiting    map[string][]update
	left       int
	lags       []float64
	superseded int
}

func (u *updates) send(key string, one update) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting[key] = append(u.waiting[key], one)
	u.left++
}

// seen ends every update that the child's image contains: a later serial number contains those before it.
func (u *updates) seen(o *object, at time.Time) {
	if len(o.Spec.Template.Spec.Containers) == 0 {
		return
	}
	tag := strings.TrimPrefix(o.Spec.Template.Spec.Containers[0].Image, "app:")
	serial, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	waiting := u.waiting[o.key()]
	for len(waiting) > 0 && waiting[0].serial <= serial {
		u.lags = append(u.lags, ms(at.Sub(waiting[0].sent)))
		if waiting[0].serial < serial {
			u.superseded++
		}
		waiting = waiting[1:]
		u.left--
	}
	u.waiting[o.key()] = waiting
}

func (u *updates) missing() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.left
}

// churn: the images of all WebApps change in turn, at a steady rate where driver and API server can. No pump runs meanwhile.
func (b *bench) churn(ctx context.Context) (result, error) {
	if b.n <= senders {
		return nil, fmt.Errorf("churn needs more than %d WebApps: %d", senders, b.n)
	}
	r := result{}
	m, err := b.settledManager(ctx, 3*time.Second)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	u := &updates{waiting: map[string][]update{}}
	wctx, closeWatch := context.WithCancel(ctx)
	defer closeWatch()
	path := "/apis/apps/v1/deployments"
	var l list
	if err := b.kube.do(ctx, "LIST", "-", path+"?limit=1", "", nil, &l); err != nil {
		return nil, err
	}
	broken := make(chan error, 1)
	go func() {
		broken <- b.kube.follow(wctx, path, l.Metadata.ResourceVersion, func(kind string, o *object) {
			if kind != "DELETED" {
				u.seen(o, time.Now())
			}
		})
	}()

	before, conflicts0, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	own := b.kube.ownCounts()
	p0, _ := m.progress(ctx, b.controller)
	if err := m.forgetPeak(); err != nil {
		return nil, err
	}
	u0, h0 := procUsage(m.pid()), b.machineNow()

	total := int(b.rate * b.churnFor.Seconds())
	t0 := time.Now()
	base := t0.UnixMicro() // above the serial numbers of all runs before
	var mu sync.Mutex
	var answers []float64
	again := 0 // updates that the API server refused with 409
	err = parallel(ctx, total, senders, func(ctx context.Context, i int) error {
		time.Sleep(time.Until(t0.Add(time.Duration(float64(i) / b.rate * float64(time.Second)))))
		if time.Since(t0) > b.churnFor {
			return nil // not sent in time: the rate that was reached shows it
		}
		ns, name := nsOf(i%b.n), nameOf(b.prefix, i%b.n)
		one := update{base + int64(i), time.Now()}
		u.send(ns+"/"+name, one)
		for {
			err := b.kube.do(ctx, http.MethodPatch, "webapps", webappPath(ns, name), mergePatch,
				fmt.Sprintf(`{"spec":{"image":"app:%d"}}`, one.serial), nil)
			mu.Lock()
			if err == nil {
				answers = append(answers, ms(time.Since(one.sent)))
			} else if isCode(err, http.StatusConflict) {
				again++
			}
			mu.Unlock()
			if !isCode(err, http.StatusConflict) {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	window := time.Since(t0)
	for limit := time.Now().Add(drain); u.missing() > 0; {
		if err := m.alive(); err != nil {
			return nil, err
		}
		if time.Now().After(limit) {
			return nil, fmt.Errorf("%d of %d updates did not reach their Deployments within %s", u.missing(), len(answers), drain)
		}
		select {
		case err := <-broken:
			return nil, fmt.Errorf("the watch of the Deployments ended: %v", err)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	took := time.Since(t0)
	if err := m.waitQuiet(ctx, b.controller, 2*time.Second); err != nil {
		return nil, err
	}
	u1, h1 := procUsage(m.pid()), b.machineNow()
	after, conflicts1, err := b.kube.serverCounts(ctx)
	if err != nil {
		return nil, err
	}
	p1, _ := m.progress(ctx, b.controller)
	sent := float64(len(answers))
	w, _ := requests(r, before, after, own, b.kube.ownCounts())
	r["rate"], r["updates"], r["updates_per_s"] = b.rate, len(answers), round(sent/window.Seconds(), 1)
	r["not_sent"], r["sent_again"], r["superseded"] = total-len(answers), again, u.superseded
	r["sending_s"], r["all_seen_s"] = secs(window), secs(took)
	quantiles(r, "lag", u.lags)
	quantiles(r, "update_answered", answers)
	r["cpu_s"], r["cpu_ms_per_update"] = round(u1.CPU-u0.CPU, 2), round((u1.CPU-u0.CPU)*1000/sent, 3)
	r["peak_rss_mib"], r["rss_mib"] = round(u1.Peak, 1), round(u1.RSS, 1)
	r["writes_per_update"], r["reconciles_per_update"] = round(w/sent, 2), round((p1.reconciles-p0.reconciles)/sent, 2)
	r["conflicts"], r["reconcile_errors"] = conflicts1-conflicts0-float64(again), p1.errors-p0.errors
	b.since(r, h0, h1, u1.CPU-u0.CPU)
	return r, b.converge(ctx, m)
}

// converge has the pump answer every Deployment that changed, until the manager reports all WebApps as Running.
func (b *bench) converge(ctx context.Context, m *manager) error {
	pctx, stopPump := context.WithCancel(ctx)
	defer stopPump()
	p, err := b.startPump(pctx)
	if err != nil {
		return err
	}
	t, err := b.track(pctx, b.prefix)
	if err != nil {
		return err
	}
	if _, err := t.wait(ctx, b.n, m); err != nil {
		return err
	}
	if err := m.waitQuiet(ctx, b.controller, 2*time.Second); err != nil {
		return err
	}
	if err, _ := p.err.Load().(error); err != nil {
		return fmt.Errorf("pump: %w", err)
	}
	return nil
}
