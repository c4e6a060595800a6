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
