package platform

import (
	"maps"
	"slices"
	"time"
)

// The nouns of the platform. Their JSON is what the tools and the observation show, and what a start state is written in;
// fields that only a start state has are in the forms of start.go.

type account struct {
	ID           string `json:"id"`
	Name         string `json:"name"`
	MaxInstances int    `json:"max_instances"`
}

type principal struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Roles map[string]role `json:"roles"` // by account
}

// A role is what a principal may do in an account; each includes the ones before.
type role string

const (
	viewer   role = "viewer"   // see
	deployer role = "deployer" // change
	owner    role = "owner"    // destroy, and see secrets
)

var rank = map[role]int{viewer: 1, deployer: 2, owner: 3}

type app struct {
	ID        string    `json:"id"`
	AccountID string    `json:"account_id"`
	Name      string    `json:"name"`
	Region    string    `json:"region"`
	Plan      string    `json:"plan"`
	Status    string    `json:"status"` // new, deploying, scaling, running, failed
	Desired   int       `json:"desired_instances"`
	Running   int       `json:"running_instances"`
	Current   string    `json:"current_release_id,omitempty"`
	URL       string    `json:"url,omitempty"`
	CreatedAt time.Time `json:"created_at"`
}

type release struct {
	ID        string    `json:"id"`
	AppID     string    `json:"app_id"`
	AccountID string    `json:"account_id"`
	Version   int       `json:"version"`
	Image     string    `json:"image"`
	Notes     string    `json:"notes,omitempty"`
	CreatedAt time.Time `json:"created_at"`

	fails string // why it does not start; "" when it does
}

type deployment struct {
	ID          string    `json:"id"`
	AppID       string    `json:"app_id"`
	AccountID   string    `json:"account_id"`
	ReleaseID   string    `json:"release_id"`
	OperationID string    `json:"operation_id,omitempty"`
	Kind        string    `json:"kind"`  // deploy, rollback
	State       string    `json:"state"` // queued, building, starting, running, failed, superseded
	Reason      string    `json:"reason,omitempty"`
	CreatedAt   time.Time `json:"created_at"`
	FinishedAt  time.Time `json:"finished_at,omitzero"`
}

type instance struct {
	ID        string    `json:"id"`
	AppID     string    `json:"app_id"`
	AccountID string    `json:"account_id"`
	ReleaseID string    `json:"release_id"`
	State     string    `json:"state"` // starting, running, failed
	Region    string    `json:"region"`
	CreatedAt time.Time `json:"created_at"`
}

type configVar struct {
	ID        string    `json:"id"` // app/KEY
	AppID     string    `json:"app_id"`
	AccountID string    `json:"account_id"`
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	UpdatedAt time.Time `json:"updated_at"`
}

type secret struct {
	ID          string    `json:"id"` // app/NAME
	AppID       string    `json:"app_id"`
	AccountID   string    `json:"account_id"`
	Name        string    `json:"name"`
	Version     int       `json:"version"`
	Fingerprint string    `json:"fingerprint"`
	RotatedAt   time.Time `json:"rotated_at"`

	value string
}

type domain struct {
	ID        string    `json:"id"`
	AccountID string    `json:"account_id"`
	AppID     string    `json:"app_id"`
	Hostname  string    `json:"hostname"`
	State     string    `json:"state"` // verifying, active
	CreatedAt time.Time `json:"created_at"`
}

type database struct {
	ID        string    `json:"id"`
	AccountID string    `json:"account_id"`
	AppID     string    `json:"app_id,omitempty"`
	Name      string    `json:"name"`
	Engine    string    `json:"engine"`
	Schema    int       `json:"schema_version"`
	State     string    `json:"state"` // available, backing_up, migrating
	CreatedAt time.Time `json:"created_at"`
}

type backup struct {
	ID         string    `json:"id"`
	DatabaseID string    `json:"database_id"`
	AccountID  string    `json:"account_id"`
	Schema     int       `json:"schema_version"`
	State      string    `json:"state"` // running, completed
	CreatedAt  time.Time `json:"created_at"`
	FinishedAt time.Time `json:"finished_at,omitzero"`
}

type logLine struct {
	ID        string    `json:"id"`
	AppID     string    `json:"app_id"`
	AccountID string    `json:"account_id"`
	At        time.Time `json:"at"`
	Level     string    `json:"level"` // info, error
	Text      string    `json:"text"`
}

type operation struct {
	ID         string    `json:"id"`
	AccountID  string    `json:"account_id"`
	Kind       string    `json:"kind"`
	Target     string    `json:"target"`
	State      string    `json:"state"` // running, succeeded, failed
	Reason     string    `json:"reason,omitempty"`
	Error      string    `json:"error,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	FinishedAt time.Time `json:"finished_at,omitzero"`

	number int // of what it works towards: instances, a schema version
}

type price struct {
	ID           string `json:"id"`
	Item         string `json:"item"`
	Region       string `json:"region,omitempty"`
	MonthlyCents int    `json:"monthly_cents"`
}

// An event is something that happens by itself when its time has come.
type event struct {
	at        time.Time
	operation string
	phase     string
	object    string // a deployment, a backup
}

// A state is all that there is. No value within it holds a pointer, so that a copy of the slices is a copy of the state.
type state struct {
	clock       time.Time
	made        int // how many ids and secrets were made
	accounts    []account
	principals  []principal
	apps        []app
	releases    []release
	deployments []deployment
	instances   []instance
	configs     []configVar
	secrets     []secret
	domains     []domain
	databases   []database
	backups     []backup
	logs        []logLine
	operations  []operation
	prices      []price
	pending     []event // in the order in which they were scheduled
}

func (s *state) clone() *state {
	c := *s
	c.accounts = slices.Clone(s.accounts)
	c.principals = slices.Clone(s.principals)
	for i := range c.principals {
		c.principals[i].Roles = maps.Clone(c.principals[i].Roles)
	}
	c.apps = slices.Clone(s.apps)
	c.releases = slices.Clone(s.releases)
	c.deployments = slices.Clone(s.deployments)
	c.instances = slices.Clone(s.instances)
	c.configs = slices.Clone(s.configs)
	c.secrets = slices.Clone(s.secrets)
	c.domains = slices.Clone(s.domains)
	c.databases = slices.Clone(s.databases)
	c.backups = slices.Clone(s.backups)
	c.logs = slices.Clone(s.logs)
	c.operations = slices.Clone(s.operations)
	c.prices = slices.Clone(s.prices)
	c.pending = slices.Clone(s.pending)
	return &c
}

// Each kind of thing says which it is and which account it belongs to, so that finding one is written once.
func (x account) id() string    { return x.ID }
func (x app) id() string        { return x.ID }
func (x release) id() string    { return x.ID }
func (x deployment) id() string { return x.ID }
func (x instance) id() string   { return x.ID }
func (x configVar) id() string  { return x.ID }
func (x secret) id() string     { return x.ID }
func (x domain) id() string     { return x.ID }
func (x database) id() string   { return x.ID }
func (x backup) id() string     { return x.ID }
func (x logLine) id() string    { return x.ID }
func (x operation) id() string  { return x.ID }
func (x principal) id() string  { return x.ID }
func (x price) id() string      { return x.ID }

// find is the thing in list with that id, where it can be changed; nil when there is none.
func find[T interface{ id() string }](list []T, id string) *T {
	for i := range list {
		if list[i].id() == id {
			return &list[i]
		}
	}
	return nil
}

func where[T any](list []T, keep func(T) bool) []T {
	out := []T{}
	for _, x := range list {
		if keep(x) {
			out = append(out, x)
		}
	}
	return out
}
