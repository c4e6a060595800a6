package sandbox

// ForceKind makes sb isolate in another way than the best that it found.
func ForceKind(sb Sandbox, kind string) {
	b := sb.(*bwrap)
	b.kind = kind
	b.setpriv = "/usr/bin/setpriv"
}

// WithoutCgroups takes from sb the control groups that it found.
func WithoutCgroups(sb Sandbox) {
	switch sb := sb.(type) {
	case *bwrap:
		sb.groups.close()
		sb.groups = nil
	case *process:
		sb.groups.close()
		sb.groups = nil
	}
}

// ColdBecause says why sb forks no commands.
func ColdBecause(sb Sandbox) string { return coldBecause(sb) }

// ResidentsStarted counts the residents that sb has started.
func ResidentsStarted(sb Sandbox) int {
	rs := &sb.(*bwrap).residents
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.started
}

// WithoutSeccomp takes the system call filter from sb.
func WithoutSeccomp(sb Sandbox) { sb.(*bwrap).seccomp = nil }

// KillResidents kills the residents that sb has.
func KillResidents(sb Sandbox) {
	rs := &sb.(*bwrap).residents
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, res := range rs.byKey {
		res.process.Kill()
	}
}
