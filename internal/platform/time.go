package platform

import (
	"fmt"
	"time"
)

// schedule has something happen after a while.
func (p *Platform) schedule(after time.Duration, operation, phase, object string) {
	p.pending = append(p.pending, event{at: p.clock.Add(after + p.slower), operation: operation, phase: phase, object: object})
}

// pass moves the time on and has all happen whose time has come, in order.
func (p *Platform) pass(d time.Duration) {
	until := p.clock.Add(d)
	for {
		next := -1
		for i, e := range p.pending {
			if !e.at.After(until) && (next < 0 || e.at.Before(p.pending[next].at)) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		e := p.pending[next]
		p.pending = append(p.pending[:next:next], p.pending[next+1:]...)
		p.clock = e.at
		p.happen(e)
	}
	p.clock = until
}

// happen is one step of an operation. What was deleted in the meantime is left alone.
func (p *Platform) happen(e event) {
	op := find(p.operations, e.operation)
	if op == nil || op.State == "failed" {
		return
	}
	switch op.Kind {
	case "deploy", "rollback":
		p.deployStep(op, e)
	case "scale":
		p.scaled(op)
	case "add_domain", "move_domain":
		if d := find(p.domains, op.Target); d != nil {
			d.State = "active"
		}
		p.finish(op, "")
	case "backup":
		p.backedUp(op, e.object)
	case "migrate":
		if db := find(p.databases, op.Target); db != nil {
			db.State, db.Schema = "available", op.number
		}
		p.finish(op, "")
	}
}

// finish ends an operation; why is the reason of a failure.
func (p *Platform) finish(op *operation, why string) {
	if p.buggy(bugOperationNeverEnds) {
		return
	}
	op.State, op.Error, op.FinishedAt = "succeeded", why, p.clock
	if why != "" {
		op.State = "failed"
	}
}

func (p *Platform) deployStep(op *operation, e event) {
	d, a := find(p.deployments, e.object), find(p.apps, op.Target)
	if d == nil || a == nil {
		return
	}
	switch e.phase {
	case "building":
		d.State = "building"
	case "starting":
		d.State = "starting"
		for range max(1, a.Desired) {
			p.addInstance(a, d.ReleaseID, "starting")
		}
	case "finished":
		p.deployed(op, d, a)
	}
}

// deployed ends a deployment: the instances of the release before make way for the new ones, whether these run or not.
func (p *Platform) deployed(op *operation, d *deployment, a *app) {
	rel := find(p.releases, d.ReleaseID)
	var why string
	if rel != nil {
		why = rel.fails
	}
	word := "running"
	if why != "" {
		word = "failed"
	}
	for i := range p.deployments {
		if x := &p.deployments[i]; x.AppID == a.ID && x.ID != d.ID && (x.State == "running" || x.State == "failed") {
			x.State = "superseded"
		}
	}
	p.instances = where(p.instances, func(x instance) bool { return x.AppID != a.ID || x.State == "starting" && x.ReleaseID == d.ReleaseID })
	for i := range p.instances {
		if x := &p.instances[i]; x.AppID == a.ID {
			x.State = word
		}
	}
	d.State, d.Reason, d.FinishedAt = word, why, p.clock
	a.Status, a.Current, a.Desired = word, d.ReleaseID, max(1, a.Desired)
	p.count(a)
	if why != "" {
		p.log(a, "error", fmt.Sprintf("release %s does not start: %s", d.ReleaseID, why))
	} else {
		p.log(a, "info", fmt.Sprintf("release %s is running", d.ReleaseID))
	}
	p.finish(op, why)
}

func (p *Platform) scaled(op *operation) {
	if a := find(p.apps, op.Target); a != nil {
		for i := range p.instances {
			if x := &p.instances[i]; x.AppID == a.ID && x.State == "starting" {
				x.State = "running"
			}
		}
		a.Status = "running"
		p.count(a)
		p.log(a, "info", fmt.Sprintf("%d instances are running", a.Running))
	}
	p.finish(op, "")
}

func (p *Platform) backedUp(op *operation, id string) {
	if b := find(p.backups, id); b != nil {
		b.State, b.FinishedAt = "completed", p.clock
	}
	if db := find(p.databases, op.Target); db != nil {
		db.State = "available"
	}
	p.finish(op, "")
}

func (p *Platform) addInstance(a *app, releaseID, word string) {
	p.instances = append(p.instances, instance{ID: p.newID("ins"), AppID: a.ID, AccountID: a.AccountID, ReleaseID: releaseID, State: word, Region: a.Region, CreatedAt: p.clock})
}

// count brings an app's number of running instances up to date.
func (s *state) count(a *app) {
	a.Running = len(where(s.instances, func(x instance) bool { return x.AppID == a.ID && x.State == "running" }))
}

func (p *Platform) log(a *app, level, text string) {
	p.logs = append(p.logs, logLine{ID: p.newID("log"), AppID: a.ID, AccountID: a.AccountID, At: p.clock, Level: level, Text: text})
}
