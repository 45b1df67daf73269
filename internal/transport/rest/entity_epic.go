package rest

import (
	"context"
	"strconv"
	"strings"

	"tenon/internal/core/authz"
	"tenon/internal/core/epic"
	"tenon/internal/core/noteable"
	"tenon/internal/core/tree"
	"tenon/internal/transport/rest/api"
)

// epicEntity is an epic.
type epicEntity struct {
	ID                 epic.ID           `json:"id"`
	WorkItemID         *int64            `json:"work_item_id" later:"work items"`
	IID                epic.IID          `json:"iid"`
	Color              string            `json:"color"`
	TextColor          string            `json:"text_color"`
	GroupID            authz.NamespaceID `json:"group_id"`
	ParentID           *epic.ID          `json:"parent_id"`
	ParentIID          *epic.IID         `json:"parent_iid"`
	Imported           bool              `json:"imported"`
	ImportedFrom       string            `json:"imported_from"`
	Title              string            `json:"title"`
	Description        *string           `json:"description"`
	Confidential       bool              `json:"confidential"`
	Author             *userBasic        `json:"author"`
	StartDate          *string           `json:"start_date"` // the one that counts
	StartIsFixed       bool              `json:"start_date_is_fixed"`
	StartFixed         *string           `json:"start_date_fixed"`
	StartInherited     *string           `json:"start_date_from_inherited_source"`
	StartFromMilestone *string           `json:"start_date_from_milestones"` // the same
	EndDate            *string           `json:"end_date"`                   // the same as DueDate
	DueDate            *string           `json:"due_date"`
	DueIsFixed         bool              `json:"due_date_is_fixed"`
	DueFixed           *string           `json:"due_date_fixed"`
	DueInherited       *string           `json:"due_date_from_inherited_source"`
	DueFromMilestone   *string           `json:"due_date_from_milestones"`
	State              epic.State        `json:"state"`
	WebEditURL         string            `json:"web_edit_url"`
	WebURL             string            `json:"web_url"`
	References         issueReferences   `json:"references"`
	Reference          string            `json:"reference"`
	CreatedAt          api.Time          `json:"created_at"`
	UpdatedAt          api.Time          `json:"updated_at"`
	ClosedAt           *api.Time         `json:"closed_at"`
	Labels             labelForm         `json:"labels"` // titles, or labels where that was asked for
	Upvotes            int64             `json:"upvotes"`
	Downvotes          int64             `json:"downvotes"`
	Subscribed         *bool             `json:"subscribed,omitempty"` // left out of lists
	Links              epicLinks         `json:"_links"`
}

type epicLinks struct {
	Self   string  `json:"self"`
	Issues string  `json:"epic_issues"`
	Group  string  `json:"group"`
	Parent *string `json:"parent"`
}

// epicView says how epics are shown.
type epicView struct {
	from    string // full path of the group that asks
	details bool   // labels with all they have
	single  bool   // the answer is about one epic
}

// epicEntities renders epics with one look at each related subject.
func (s *Server) epicEntities(ctx context.Context, as authz.Actor, v epicView, epics ...epic.Epic) ([]epicEntity, error) {
	ids, authors := make([]int64, len(epics)), make([]authz.UserID, len(epics))
	refs := make([]noteable.Ref, len(epics))
	for i := range epics {
		ids[i], authors[i] = int64(epics[i].ID), epics[i].AuthorID
		refs[i] = noteable.Ref{Kind: noteable.Epic, ID: ids[i]}
	}
	people, err := s.Accounts.ByIDs(ctx, authors)
	if err != nil {
		return nil, err
	}
	votes, err := s.Awards.ForTargets(ctx, noteable.Epic, ids)
	if err != nil {
		return nil, err
	}
	subscribed := map[noteable.Ref]bool{}
	if v.single {
		if subscribed, err = s.Subscriptions.Of(ctx, as, refs...); err != nil {
			return nil, err
		}
	}
	out := make([]epicEntity, len(epics))
	for i := range epics {
		out[i] = s.epicEntity(&epics[i], v)
		out[i].Author, out[i].Upvotes, out[i].Downvotes = s.user(people[authors[i]]), votes[ids[i]].Up, votes[ids[i]].Down
		if v.single {
			is := subscribed[refs[i]]
			out[i].Subscribed = &is
		}
	}
	return out, nil
}

// epicEntity renders what an epic itself says.
func (s *Server) epicEntity(m *epic.Epic, v epicView) epicEntity {
	short, dates := m.IID.Reference(), m.Dates()
	e := epicEntity{
		ID: m.ID, IID: m.IID, Color: m.Color, TextColor: m.TextColor(), GroupID: m.GroupID, Imported: m.Origin != tree.Here, ImportedFrom: m.Origin.String(), Title: m.Title,
		Description: m.Description, Confidential: m.Confidential, StartDate: dates.Start, StartIsFixed: m.StartIsFixed, StartFixed: m.StartFixed,
		StartInherited: m.Inherited.Start, StartFromMilestone: m.Inherited.Start, EndDate: dates.Due, DueDate: dates.Due, DueIsFixed: m.DueIsFixed,
		DueFixed: m.DueFixed, DueInherited: m.Inherited.Due, DueFromMilestone: m.Inherited.Due, State: m.State,
		WebEditURL: s.URLs.EditEpic(m.Path, int64(m.IID)), WebURL: s.URLs.Epic(m.Path, int64(m.IID)),
		References: issueReferences{Short: short, Relative: m.Path + short, Full: m.Path + short}, Reference: short,
		CreatedAt: api.Time(m.CreatedAt.Time), UpdatedAt: api.Time(m.UpdatedAt.Time), Labels: labelList(m.Labels, v.details),
	}
	if strings.EqualFold(v.from, m.Path) {
		e.References.Relative = short
	}
	if m.ClosedAt != nil {
		e.ClosedAt = api.TimePtr(&m.ClosedAt.Time)
	}
	link := func(group authz.NamespaceID, iid epic.IID, parts ...string) string {
		return s.URLs.API(append([]string{"groups", strconv.FormatInt(int64(group), 10), "epics", strconv.FormatInt(int64(iid), 10)}, parts...)...)
	}
	e.Links = epicLinks{
		Self: link(m.GroupID, m.IID), Issues: link(m.GroupID, m.IID, "issues"), Group: s.URLs.API("groups", strconv.FormatInt(int64(m.GroupID), 10)),
	}
	if p := m.Parent; p != nil {
		url := link(p.GroupID, p.IID)
		e.ParentID, e.ParentIID, e.Links.Parent = &p.ID, &p.IID, &url
	}
	return e
}
