package sandbox

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
