package authz

// Place is the instance, a group or a project, as somewhere that things belong to; the zero
// value is the instance.
type Place struct {
	Namespace NamespaceID  // of the group, or the project's own; zero for the instance
	Parent    *NamespaceID // nil for a top-level group and the instance
	Group     bool         // or else a project, or the instance where ID is zero
	ID        int64        // of the group or project; zero for the instance
	Name      string
	Path      string // full path
	Personal  bool   // a project in a personal namespace, whose user is its owner
	Requests  bool   // strangers may ask for membership
	Subject   Subject
}
