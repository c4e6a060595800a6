package platform

import (
	"cmp"
	"slices"
	"time"
)

// begin makes an operation that is under way. It ends when what its caller schedules has happened, or its caller ends it.
func (p *Platform) begin(kind, target, acct, reason string) *operation {
	op := operation{ID: p.newID("op"), AccountID: acct, Kind: kind, Target: target, State: "running", Reason: reason, CreatedAt: p.clock}
	if p.buggy(bugOperationEarly) {
		op.State, op.FinishedAt = "succeeded", p.clock
	}
	p.operations = append(p.operations, op)
	return &p.operations[len(p.operations)-1]
}

// busy refuses a change of what another operation works on.
func (p *Platform) busy(target string) error {
	i := slices.IndexFunc(p.operations, func(x operation) bool { return x.Target == target && x.State == "running" })
	if i < 0 {
		return nil
	}
	return &refusal{Code: "busy", Status: 409, Message: "operation " + p.operations[i].ID + " is under way; wait until it has ended", Retryable: true, RetryAfter: 5}
}

func (p *Platform) createApp(in struct {
	AccountID string `json:"account_id"`
	Name      string `json:"name"`
	Region    string `json:"region"`
	Plan      string `json:"plan"`
}) (any, error) {
	if err := p.need(deployer, in.AccountID, "account", in.AccountID); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(p.apps, func(x app) bool { return x.AccountID == in.AccountID && x.Name == in.Name }) {
		return nil, refuse(409, "name_taken", "account %s has an app %q already", in.AccountID, in.Name)
	}
	a := app{AccountID: in.AccountID, Name: in.Name, Region: in.Region, Plan: cmp.Or(in.Plan, "small"), Status: "new", CreatedAt: p.clock, URL: "https://" + in.Name + ".apps.example"}
	times := 1
	if p.buggy(bugCreateTwice) {
		times = 2
	}
	for range times {
		a.ID = p.newID("app")
		p.apps = append(p.apps, a)
	}
	return map[string]any{"app": a}, nil
}

func (p *Platform) createRelease(in struct {
	AppID string `json:"app_id"`
	Image string `json:"image"`
	Notes string `json:"notes"`
}) (any, error) {
	a, err := p.app(in.AppID, deployer)
	if err != nil {
		return nil, err
	}
	version := 1
	for _, r := range p.releases {
		if r.AppID == a.ID {
			version = max(version, r.Version+1)
		}
	}
	r := release{ID: p.newID("rel"), AppID: a.ID, AccountID: a.AccountID, Version: version, Image: in.Image, Notes: in.Notes, CreatedAt: p.clock}
	p.releases = append(p.releases, r)
	return map[string]any{"release": r}, nil
}

func (p *Platform) deployRelease(in struct {
	AppID     string `json:"app_id"`
	ReleaseID string `json:"release_id"`
	Strategy  string `json:"strategy"`
	Reason    string `json:"reason"`
}) (any, error) {
	a, err := p.app(in.AppID, deployer)
	if err != nil {
		return nil, err
	}
	if in.Strategy != "" && in.Strategy != "rolling" {
		return nil, p.diverge("deploying with the strategy %s", in.Strategy)
	}
	return p.deploy(a, in.ReleaseID, "deploy", in.Reason)
}

func (p *Platform) rollbackApp(in struct {
	AppID       string `json:"app_id"`
	ToReleaseID string `json:"to_release_id"`
	Reason      string `json:"reason"`
}) (any, error) {
	a, err := p.app(in.AppID, deployer)
	if err != nil {
		return nil, err
	}
	to := in.ToReleaseID
	if to == "" {
		if to = p.before(a); to == "" {
			return nil, refuse(412, "no_earlier_release", "no release of app %s ran before the current one", a.ID)
		}
	}
	return p.deploy(a, to, "rollback", in.Reason)
}

// before is the last release of an app that ran and is not the current one; "" when there is none.
func (p *Platform) before(a *app) string {
	for _, d := range slices.Backward(p.deployments) {
		if d.AppID == a.ID && d.State == "superseded" && d.ReleaseID != a.Current && d.Reason == "" {
			return d.ReleaseID
		}
	}
	return ""
}

func (p *Platform) deploy(a *app, releaseID, kind, reason string) (any, error) {
	rel := find(p.releases, releaseID)
	if rel == nil || rel.AppID != a.ID {
		return nil, refuse(404, "not_found", "app %s has no release %q", a.ID, clip(releaseID))
	}
	if err := p.busy(a.ID); err != nil {
		return nil, err
	}
	if p.buggy(bugDeployLatest) {
		for i := range p.releases {
			if x := &p.releases[i]; x.AppID == a.ID && x.Version > rel.Version {
				rel = x
			}
		}
	}
	if a.Desired == 0 {
		if err := p.room(a, 1); err != nil {
			return nil, err
		}
	}
	op := p.begin(kind, a.ID, a.AccountID, reason)
	d := deployment{ID: p.newID("dep"), AppID: a.ID, AccountID: a.AccountID, ReleaseID: rel.ID, OperationID: op.ID, Kind: kind, State: "queued", CreatedAt: p.clock}
	p.deployments = append(p.deployments, d)
	a.Status = "deploying"
	p.log(a, "info", kind+" of release "+rel.ID+" begins")
	p.schedule(2*time.Second, op.ID, "building", d.ID)
	p.schedule(6*time.Second, op.ID, "starting", d.ID)
	p.schedule(10*time.Second, op.ID, "finished", d.ID)
	return map[string]any{"deployment": d, "operation": *op}, nil
}

// room refuses more instances than the account may have.
func (p *Platform) room(a *app, wanted int) error {
	total := wanted
	for _, x := range p.apps {
		if x.AccountID == a.AccountID && x.ID != a.ID {
			total += x.Desired
		}
	}
	if most := find(p.accounts, a.AccountID).MaxInstances; total > most {
		return refuse(422, "quota_exceeded", "account %s may have %d instances; this would make it %d", a.AccountID, most, total)
	}
	return nil
}

func (p *Platform) scaleApp(in struct {
	AppID     string `json:"app_id"`
	Instances int    `json:"instances"`
	Reason    string `json:"reason"`
}) (any, error) {
	a, err := p.app(in.AppID, deployer)
	if err != nil {
		return nil, err
	}
	if a.Current == "" || a.Status == "failed" {
		return nil, refuse(412, "not_running", "app %s has no release that runs; deploy one first", a.ID)
	}
	if err := p.busy(a.ID); err != nil {
		return nil, err
	}
	if err := p.room(a, in.Instances); err != nil {
		return nil, err
	}
	op := p.begin("scale", a.ID, a.AccountID, in.Reason)
	if p.buggy(bugScaleDrops) {
		p.finish(op, "")
		shown := *a
		shown.Desired = in.Instances
		return map[string]any{"app": shown, "operation": *op}, nil
	}
	p.resize(a, in.Instances)
	if a.Status == "scaling" {
		p.schedule(5*time.Second, op.ID, "finished", "")
	} else {
		p.finish(op, "")
	}
	return map[string]any{"app": *a, "operation": *op}, nil
}

// resize starts or ends instances; the app is scaling while some start.
func (p *Platform) resize(a *app, instances int) {
	a.Desired = instances
	var kept int
	p.instances = where(p.instances, func(x instance) bool {
		if x.AppID != a.ID {
			return true
		}
		kept++
		return kept <= instances
	})
	missing := instances - kept
	if p.buggy(bugScaleShort) {
		missing--
	}
	for range missing {
		p.addInstance(a, a.Current, "starting")
		a.Status = "scaling"
	}
	p.count(a)
}

func (p *Platform) setConfig(in struct {
	AppID string `json:"app_id"`
	Key   string `json:"key"`
	Value string `json:"value"`
}) (any, error) {
	a, err := p.app(in.AppID, deployer)
	if err != nil {
		return nil, err
	}
	answer := configVar{ID: a.ID + "/" + in.Key, AppID: a.ID, AccountID: a.AccountID, Key: in.Key, Value: in.Value, UpdatedAt: p.clock}
	kept := answer
	if p.buggy(bugConfigNeighbour) {
		other := p.neighbour(a)
		kept.ID, kept.AppID, kept.AccountID = other.ID+"/"+in.Key, other.ID, other.AccountID
	}
	switch c := find(p.configs, kept.ID); {
	case c == nil:
		p.configs = append(p.configs, kept)
	case c.Value != kept.Value:
		*c = kept
	}
	return map[string]any{"config": answer}, nil
}

func (p *Platform) rotateSecret(in named) (any, error) {
	s, err := p.secret(in)
	if err != nil {
		return nil, err
	}
	next := *s
	next.Version++
	next.value = p.random("secret")
	next.Fingerprint, next.RotatedAt = fingerprint(next.value), p.clock
	if !p.buggy(bugRotateKeeps) {
		*s = next
	}
	return map[string]any{"secret": next, "value": next.value}, nil
}

func (p *Platform) addDomain(in struct {
	AppID    string `json:"app_id"`
	Hostname string `json:"hostname"`
}) (any, error) {
	a, err := p.app(in.AppID, deployer)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(p.domains, func(x domain) bool { return x.Hostname == in.Hostname }) {
		return nil, refuse(409, "hostname_taken", "%s is in use already", in.Hostname)
	}
	d := domain{ID: p.newID("dom"), AccountID: a.AccountID, AppID: a.ID, Hostname: in.Hostname, State: "verifying", CreatedAt: p.clock}
	p.domains = append(p.domains, d)
	op := p.begin("add_domain", d.ID, d.AccountID, "")
	p.schedule(3*time.Second, op.ID, "finished", "")
	return map[string]any{"domain": d, "operation": *op}, nil
}

func (p *Platform) domain(id string, least role) (*domain, error) {
	d := find(p.domains, id)
	if d == nil {
		return nil, refuse(404, "not_found", "there is no domain %q", clip(id))
	}
	return d, p.need(least, d.AccountID, "domain", id)
}

func (p *Platform) moveDomain(in struct {
	DomainID string `json:"domain_id"`
	ToAppID  string `json:"to_app_id"`
}) (any, error) {
	d, err := p.domain(in.DomainID, deployer)
	if err != nil {
		return nil, err
	}
	a, err := p.app(in.ToAppID, deployer)
	if err != nil {
		return nil, err
	}
	if err := p.busy(d.ID); err != nil {
		return nil, err
	}
	op := p.begin("move_domain", d.ID, a.AccountID, "")
	if d.AppID == a.ID {
		p.finish(op, "")
		return map[string]any{"domain": *d, "operation": *op}, nil
	}
	if p.buggy(bugMoveCopies) {
		moved := *d
		moved.ID, moved.AppID, moved.AccountID, moved.State = p.newID("dom"), a.ID, a.AccountID, "active"
		p.domains = append(p.domains, moved)
		p.finish(op, "")
		moved.ID = in.DomainID
		return map[string]any{"domain": moved, "operation": *op}, nil
	}
	d.AppID, d.AccountID, d.State = a.ID, a.AccountID, "verifying"
	p.schedule(3*time.Second, op.ID, "finished", "")
	return map[string]any{"domain": *d, "operation": *op}, nil
}

func (p *Platform) removeDomain(in struct {
	DomainID string `json:"domain_id"`
}) (any, error) {
	d, err := p.domain(in.DomainID, owner)
	if err != nil {
		return nil, err
	}
	op := p.begin("remove_domain", d.ID, d.AccountID, "")
	p.finish(op, "")
	p.domains = where(p.domains, func(x domain) bool { return x.ID != in.DomainID })
	return map[string]any{"operation": *op}, nil
}

func (p *Platform) createBackup(in struct {
	DatabaseID string `json:"database_id"`
	Reason     string `json:"reason"`
}) (any, error) {
	db, err := p.database(in.DatabaseID, deployer)
	if err != nil {
		return nil, err
	}
	if err := p.busy(db.ID); err != nil {
		return nil, err
	}
	op := p.begin("backup", db.ID, db.AccountID, in.Reason)
	b := backup{ID: p.newID("bak"), DatabaseID: db.ID, AccountID: db.AccountID, Schema: db.Schema, State: "running", CreatedAt: p.clock}
	if p.buggy(bugBackupEmpty) {
		p.finish(op, "")
		return map[string]any{"backup": b, "operation": *op}, nil
	}
	p.backups = append(p.backups, b)
	db.State = "backing_up"
	p.schedule(8*time.Second, op.ID, "finished", b.ID)
	return map[string]any{"backup": b, "operation": *op}, nil
}

func (p *Platform) migrateDatabase(in struct {
	DatabaseID string `json:"database_id"`
	ToVersion  int    `json:"to_version"`
	Reason     string `json:"reason"`
}) (any, error) {
	db, err := p.database(in.DatabaseID, owner)
	if err != nil {
		return nil, err
	}
	if err := p.busy(db.ID); err != nil {
		return nil, err
	}
	if in.ToVersion < db.Schema {
		return nil, p.diverge("migrating a database back to an earlier schema")
	}
	op := p.begin("migrate", db.ID, db.AccountID, in.Reason)
	if in.ToVersion == db.Schema {
		p.finish(op, "")
		return map[string]any{"database": *db, "operation": *op}, nil
	}
	db.State = "migrating"
	op.number = in.ToVersion
	p.schedule(6*time.Second, op.ID, "finished", "")
	return map[string]any{"database": *db, "operation": *op}, nil
}

func (p *Platform) deleteApp(in struct {
	AppID  string `json:"app_id"`
	Reason string `json:"reason"`
}) (any, error) {
	a, err := p.app(in.AppID, owner)
	if err != nil {
		return nil, err
	}
	op := p.begin("delete_app", a.ID, a.AccountID, in.Reason)
	p.finish(op, "")
	gone := a.ID
	if p.buggy(bugDeleteNeighbour) {
		gone = p.neighbour(a).ID
	}
	p.apps = where(p.apps, func(x app) bool { return x.ID != gone })
	p.releases = where(p.releases, func(x release) bool { return x.AppID != gone })
	p.deployments = where(p.deployments, func(x deployment) bool { return x.AppID != gone })
	p.instances = where(p.instances, func(x instance) bool { return x.AppID != gone })
	p.configs = where(p.configs, func(x configVar) bool { return x.AppID != gone })
	p.secrets = where(p.secrets, func(x secret) bool { return x.AppID != gone })
	p.domains = where(p.domains, func(x domain) bool { return x.AppID != gone })
	p.logs = where(p.logs, func(x logLine) bool { return x.AppID != gone })
	for i := range p.operations {
		if x := &p.operations[i]; x.Target == gone && x.State == "running" {
			p.finish(x, "the app was deleted")
		}
	}
	return map[string]any{"operation": *op}, nil
}
