package sandbox

import (
	"fmt"
	"math"
	"os/exec"
	"strings"
)

// The command is started by a small shell script, because a child's resource limits can only be set by the child. As
// pid 1 of a sandbox the shell also reaps orphans, and the namespace ends with it. It holds the command's stderr on
// descriptor 9 so that its own remarks ("Segmentation fault") do not mix with what the command says.

// processFlag finds which letter this machine's sh has for the number of processes: -u in bash, -p in dash.
func processFlag() string {
	if exec.Command("/bin/sh", "-c", "ulimit -u 1").Run() == nil {
		return "-u"
	}
	return "-p"
}

// slack is how many processes beyond the limit the kernel allows. The sampler ends a tree that is above the limit; a cap
// at the limit itself would make excess and full use look the same.
const slack = 16

// others is added for a pid namespace where the kernel counts the processes of a uid on the whole machine: those of other
// programs come and go while a command runs, and those of another container with the same uid cannot even be seen. Only a
// namespace can afford it, since it dies at once: a tree that forks without end outruns whoever ends it one by one.
const others = 256

// limitScript is the part of the script that sets limits for the shell and all that it starts.
func limitScript(l Limits, processFlag string, processes int) string {
	cpu := cpuSeconds(l)
	set := []string{
		"ulimit -c 0",
		fmt.Sprintf("ulimit -f %d", (l.FileSize+511)/512),
		fmt.Sprintf("ulimit %s %d", processFlag, processes),
		fmt.Sprintf("ulimit -S -t %d", cpu), // first, for a hard limit cannot go below the soft one
		fmt.Sprintf("ulimit -H -t %d", cpu+1),
	}
	return strings.Join(set, "; ")
}

// cpuSeconds is the soft limit of each process; the hard one is a second more. RLIMIT_CPU holds for each process; the
// sampler counts the tree. One second more than the limit, so that the tree's, which is finer, comes first.
func cpuSeconds(l Limits) int64 { return int64(math.Ceil(l.CPU.Seconds())) + 1 }

const (
	// runScript runs the command as a child, for a shell that is pid 1.
	runScript = `exec 9>&2 2>/dev/null; %s; ("$@" 2>&9 9>&-); exit $?`
	// gateScript waits on descriptor 9 until the supervisor is ready, then becomes the command.
	gateScript = `read -r go <&9; exec 9>&2 2>/dev/null; %s; exec 2>&9 9>&-; exec "$@"`
)
