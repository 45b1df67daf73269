// Package appearance keeps how pages and mail of the instance look.
package appearance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"tenon/internal/base/blob"
	"tenon/internal/base/cached"
	"tenon/internal/base/db"
	"tenon/internal/base/errs"
	"tenon/internal/base/event"
	"tenon/internal/base/pattern"
	"tenon/internal/base/picture"
	"tenon/internal/core/authz"
	"tenon/internal/core/change"
)

// ID identifies the row, which is in the paths of pictures.
type ID int64

// Bounds of what is stored, in characters.
const (
	maxTitle       = 255
	maxPWA         = 2_048
	maxDescription = 10_000
	maxGuidelines  = 4_096
	maxMessage     = 1_000 // it is on every page and in every mail
)

// Colors of the messages where none are set.
const (
	defaultBackground = "#E75E40"
	defaultFont       = "#FFFFFF"
)

// Appearance is how the instance looks. Texts are "" where there is none, and so are the stored names of pictures.
type Appearance struct {
	ID                     ID      `db:"id"`
	Title                  string  `db:"title"`       // on the sign-in page, as the next
	Description            string  `db:"description"` // Markdown
	PWAName                string  `db:"pwa_name"`
	PWAShortName           string  `db:"pwa_short_name"`
	PWADescription         string  `db:"pwa_description"`
	Logo                   string  `db:"logo"`
	PWAIcon                string  `db:"pwa_icon"`
	HeaderLogo             string  `db:"header_logo"`
	Favicon                string  `db:"favicon"`
	MemberGuidelines       string  `db:"member_guidelines"` // Markdown, as the next two
	NewProjectGuidelines   string  `db:"new_project_guidelines"`
	ProfileImageGuidelines string  `db:"profile_image_guidelines"`
	HeaderMessage          string  `db:"header_message"`
	FooterMessage          string  `db:"footer_message"`
	MessageBackgroundColor string  `db:"message_background_color"` // #RGB or #RRGGBB, as the next
	MessageFontColor       string  `db:"message_font_color"`
	InMail                 bool    `db:"email_header_and_footer_enabled"` // the messages are in mail, too
	CreatedAt              db.Time `db:"created_at"`
	UpdatedAt              db.Time `db:"updated_at"`
}

// About is the appearance as the subject of an event.
func (a Appearance) About() change.Subject {
	return change.Subject{Type: "Appearance", ID: int64(a.ID), Title: "Appearance"}
}

// Colors returns the colors of the messages.
func (a *Appearance) Colors() (background, font string) {
	background, font = a.MessageBackgroundColor, a.MessageFontColor
	if background == "" {
		background = defaultBackground
	}
	if font == "" {
		font = defaultFont
	}
	return background, font
}

// Image returns the stored name of a picture, "" for none.
func (a *Appearance) Image(of Image) string {
	if at := a.image(of); at != nil {
		return *at
	}
	return ""
}

func (a *Appearance) image(of Image) *string {
	switch of {
	case Logo:
		return &a.Logo
	case PWAIcon:
		return &a.PWAIcon
	case HeaderLogo:
		return &a.HeaderLogo
	case Favicon:
		return &a.Favicon
	}
	return nil
}

// Attributes are the texts and switches that a call sets; nil leaves one alone. Each is stored in its column, and is a parameter of
// REST by its tags.
type Attributes struct {
	Title                  *string `db:"title" param:"title" doc:"Title on the sign-in page"`
	Description            *string `db:"description" param:"description" doc:"Text on the sign-in page, in Markdown"`
	PWAName                *string `db:"pwa_name" param:"pwa_name" doc:"Name of the web application"`
	PWAShortName           *string `db:"pwa_short_name" param:"pwa_short_name" doc:"Short name of the web application"`
	PWADescription         *string `db:"pwa_description" param:"pwa_description" doc:"Description of the web application"`
	MemberGuidelines       *string `db:"member_guidelines" param:"member_guidelines" doc:"Text on the members pages of groups and projects, in Markdown"`
	NewProjectGuidelines   *string `db:"new_project_guidelines" param:"new_project_guidelines" doc:"Text for a page that creates projects, in Markdown; no page shows it"`
	ProfileImageGuidelines *string `db:"profile_image_guidelines" param:"profile_image_guidelines" doc:"Text about avatars on the account page, in Markdown"`
	HeaderMessage          *string `db:"header_message" param:"header_message" doc:"Message at the top of every page"`
	FooterMessage          *string `db:"footer_message" param:"footer_message" doc:"Message at the bottom of every page"`
	MessageBackgroundColor *string `db:"message_background_color" param:"message_background_color" doc:"Background color of the messages, such as #E75E40"`
	MessageFontColor       *string `db:"message_font_color" param:"message_font_color" doc:"Font color of the messages, such as #FFFFFF"`
	InMail                 *bool   `db:"email_header_and_footer_enabled" param:"email_header_and_footer_enabled" doc:"Add the messages to all mail"`
}

// Changes are those of Update.
type Changes struct {
	Attributes
	Images map[Image]*Picture // nil removes a picture
}

// Deps is what a Service is made of.
type Deps struct {
	DB      *db.DB
	Policy  *authz.Policy
	Bus     *event.Bus
	Objects *blob.Store
	Log     *slog.Logger
	Now     func() time.Time
}

// Service keeps the appearance, in memory as well: Current takes no statement.
type Service struct {
	Deps
	*cached.Value[Appearance]

	cleaner *picture.Cleaner
}

// New builds the service.
func New(d Deps) *Service {
	s := &Service{Deps: d, cleaner: picture.NewCleaner()}
	s.Value = cached.New(s.read)
	return s
}

var columns = db.Columns[Appearance]("a")

// read returns the row, or the defaults with the id 0 where there is none.
func (s *Service) read(ctx context.Context) (*Appearance, error) {
	a, err := db.Get[Appearance](ctx, s.DB, "SELECT "+columns+" FROM appearances a ORDER BY a.id LIMIT 1")
	if errors.Is(err, db.ErrNotFound) {
		return &Appearance{MessageBackgroundColor: defaultBackground, MessageFontColor: defaultFont}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read appearance: %w", err)
	}
	return &a, nil
}

// Find returns the appearance.
func (s *Service) Find(ctx context.Context, as authz.Actor) (*Appearance, error) {
	if err := s.Policy.Require(ctx, as, authz.ReadAppearance, authz.Subject{}); err != nil {
		return nil, err
	}
	return s.read(ctx)
}

// Updated says that the appearance changed.
type Updated struct{ change.Of[Appearance] }

// Audit is what the audit trail records of it.
func (Updated) Audit() []change.Entry {
	return change.Record("appearance_updated", "Updated the appearance of the instance")
}

// Update changes the appearance.
func (s *Service) Update(ctx context.Context, as authz.Actor, c Changes) (*Appearance, error) {
	if err := s.Policy.Require(ctx, as, authz.AdminAppearance, authz.Subject{}); err != nil {
		return nil, err
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := s.store(ctx, c.Images); err != nil {
		return nil, err
	}
	var out db.Change[Appearance]
	err := s.Change(ctx, s.DB, func(ctx context.Context) error {
		row, err := db.Ensure(ctx, s.DB, db.Row{Table: "appearances", Now: s.Now, If: as.UnmodifiedAt}, s.read)
		if err != nil {
			return err
		}
		out, err = db.Update(ctx, s.DB, row, func(_ context.Context, a *Appearance) error { c.apply(a); return nil })
		if err != nil || !out.Any() {
			return err
		}
		s.remove(ctx, &out.Before, &out.After)
		return s.Bus.Publish(ctx, Updated{change.Updated(as, s.Now(), authz.Place{}, &out)})
	})
	if err != nil {
		return nil, errs.Wrap(err, "update appearance")
	}
	return &out.After, nil
}

func (c *Changes) apply(a *Appearance) {
	db.Assign(a, &c.Attributes)
	for of, p := range c.Images {
		if at := a.image(of); at != nil {
			*at = p.stored()
		}
	}
}

var color = pattern.New(`^#[0-9A-Fa-f]{3}([0-9A-Fa-f]{3})?$`)

func (c *Changes) check() error {
	var f errs.Fields
	for _, text := range []struct {
		name string
		sent *string
		most int
	}{
		{"title", c.Title, maxTitle},
		{"description", c.Description, maxDescription},
		{"pwa_name", c.PWAName, maxTitle},
		{"pwa_short_name", c.PWAShortName, maxTitle},
		{"pwa_description", c.PWADescription, maxPWA},
		{"member_guidelines", c.MemberGuidelines, maxGuidelines},
		{"new_project_guidelines", c.NewProjectGuidelines, maxGuidelines},
		{"profile_image_guidelines", c.ProfileImageGuidelines, maxGuidelines},
		{"header_message", c.HeaderMessage, maxMessage},
		{"footer_message", c.FooterMessage, maxMessage},
	} {
		f.Length(text.name, text.sent, text.most)
	}
	for name, sent := range map[string]*string{"message_background_color": c.MessageBackgroundColor, "message_font_color": c.MessageFontColor} {
		f.Check(sent == nil || *sent == "" || color().MatchString(*sent), name, "must be a valid color code")
	}
	return f.Err()
}
