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
	FullName  string // with the names of the groups above
	Personal  bool   // a project in a personal namespace, whose user is its owner
	Requests  bool   // strangers may ask for membership
	Subject   Subject
	Row       Placed `json:"-"` // that it was made of: project.Of and namespace.Of return it; nil where it was made by hand
}

// Placed is the row of a group or project.
type Placed interface{ Place() Place }

// IsProject reports whether the place is a project.
func (p Place) IsProject() bool { return p.ID != 0 && !p.Group }

// IsInstance reports whether the place is the instance.
func (p Place) IsInstance() bool { return p.ID == 0 }

// Ability is that of a project or of a group, whichever the place is.
func (p Place) Ability(project, group Ability) Ability {
	if p.Group {
		return group
	}
	return project
}
