package platform

import "slices"

// A Bug is a defect that can be switched on, to show that no verdict follows a defect of the platform.
type Bug struct {
	Name string
	What string
}

const (
	bugScaleDrops         = "scale-drops-the-request"
	bugScaleShort         = "scale-starts-one-too-few"
	bugReadLies           = "read-says-running"
	bugDeleteNeighbour    = "delete-takes-the-neighbour"
	bugDeployLatest       = "deploy-takes-the-latest"
	bugConfigNeighbour    = "config-goes-to-the-neighbour"
	bugCreateTwice        = "create-makes-two"
	bugOperationNeverEnds = "operation-never-ends"
	bugOperationEarly     = "operation-ends-at-once"
	bugMoveCopies         = "move-leaves-a-copy"
	bugBackupEmpty        = "backup-is-not-kept"
	bugRotateKeeps        = "rotate-keeps-the-old"
	bugPageSkips          = "page-skips-an-item"
)

// Bugs lists the defects that can be switched on. None is on unless it is named.
func Bugs() []Bug {
	return []Bug{
		{bugScaleDrops, "scale_app answers with success and changes nothing"},
		{bugScaleShort, "scale_app starts one instance fewer than it says"},
		{bugReadLies, "get_app says that every app is running with all its instances"},
		{bugDeleteNeighbour, "delete_app deletes another app than the one named"},
		{bugDeployLatest, "deploy_release and rollback_app deploy the newest release, whichever is named"},
		{bugConfigNeighbour, "set_config writes to another app than the one named"},
		{bugCreateTwice, "create_app creates the app twice"},
		{bugOperationNeverEnds, "operations stay running when their work is done"},
		{bugOperationEarly, "operations have succeeded before their work is done"},
		{bugMoveCopies, "move_domain leaves the domain where it was and makes another"},
		{bugBackupEmpty, "create_backup answers with success and keeps no backup"},
		{bugRotateKeeps, "rotate_secret answers with a new version and keeps the old one"},
		{bugPageSkips, "every page but the first lacks its first item"},
	}
}

func (p *Platform) buggy(name string) bool { return slices.Contains(p.bugs, name) }

// neighbour is another app than a, of whatever account; a itself when there is none.
func (p *Platform) neighbour(a *app) *app {
	for i := range p.apps {
		if p.apps[i].ID == a.ID {
			return &p.apps[(i+1)%len(p.apps)]
		}
	}
	return a
}
