package rest

import (
	"context"
	"errors"

	"tenon/internal/core/appearance"
	"tenon/internal/core/authz"
	"tenon/internal/core/weburl"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("appearance", (*Server).appearanceRoutes)

func (s *Server) appearanceRoutes() []*api.Route {
	const path = "/application/appearance"
	return api.Scoped(nil,
		api.Get(path, s.appearance).Doc("Get the appearance of the instance").Needs(authz.ReadAppearance),
		api.Put(path, s.updateAppearance).Timed().MaxBody(6<<20).Doc("Update the appearance of the instance").Needs(authz.AdminAppearance),
	)
}

// appearanceEntity is how the instance looks. Pictures are paths, null where there is none.
type appearanceEntity struct {
	Title                  string  `json:"title"`
	Description            string  `json:"description"`
	PWAName                string  `json:"pwa_name"`
	PWAShortName           string  `json:"pwa_short_name"`
	PWADescription         string  `json:"pwa_description"`
	Logo                   *string `json:"logo"`
	PWAIcon                *string `json:"pwa_icon"`
	HeaderLogo             *string `json:"header_logo"`
	Favicon                *string `json:"favicon"`
	NewProjectGuidelines   string  `json:"new_project_guidelines"`
	MemberGuidelines       string  `json:"member_guidelines"`
	ProfileImageGuidelines string  `json:"profile_image_guidelines"`
	HeaderMessage          string  `json:"header_message"`
	FooterMessage          string  `json:"footer_message"`
	MessageBackgroundColor string  `json:"message_background_color"`
	MessageFontColor       string  `json:"message_font_color"`
	InMail                 bool    `json:"email_header_and_footer_enabled"`
}

func newAppearance(a *appearance.Appearance) appearanceEntity {
	image := func(of appearance.Image) *string {
		stored := a.Image(of)
		if stored == "" {
			return nil
		}
		return new(weburl.AppearanceImage(string(of), int64(a.ID), stored))
	}
	return appearanceEntity{
		Title: a.Title, Description: a.Description, PWAName: a.PWAName, PWAShortName: a.PWAShortName, PWADescription: a.PWADescription,
		Logo: image(appearance.Logo), PWAIcon: image(appearance.PWAIcon), HeaderLogo: image(appearance.HeaderLogo), Favicon: image(appearance.Favicon),
		NewProjectGuidelines: a.NewProjectGuidelines, MemberGuidelines: a.MemberGuidelines, ProfileImageGuidelines: a.ProfileImageGuidelines,
		HeaderMessage: a.HeaderMessage, FooterMessage: a.FooterMessage,
		MessageBackgroundColor: a.MessageBackgroundColor, MessageFontColor: a.MessageFontColor, InMail: a.InMail,
	}
}

func (s *Server) appearance(ctx context.Context, as authz.Actor, _ struct{}) (appearanceEntity, error) {
	a, err := s.Appearance.Find(ctx, as)
	if err != nil {
		return appearanceEntity{}, err
	}
	return newAppearance(a), nil
}

type appearanceParams struct {
	appearance.Attributes
	Logo       api.Opt[api.File] `param:"logo" doc:"Image on the sign-in page, at most 1 MiB; empty removes it"`
	PWAIcon    api.Opt[api.File] `param:"pwa_icon" doc:"Icon of the web application, at most 1 MiB; empty removes it"`
	HeaderLogo api.Opt[api.File] `param:"header_logo" doc:"Image in the navigation bar and in mail, at most 1 MiB; empty removes it"`
	Favicon    api.Opt[api.File] `param:"favicon" doc:"Icon of the pages, also as .ico, at most 1 MiB; empty removes it"`
}

// images reads the pictures that were sent, so that a bad one is refused before anything is changed.
func (s *Server) images(p *appearanceParams) (map[appearance.Image]*appearance.Picture, error) {
	out := map[appearance.Image]*appearance.Picture{}
	for of, sent := range map[appearance.Image]*api.Opt[api.File]{
		appearance.Logo: &p.Logo, appearance.PWAIcon: &p.PWAIcon, appearance.HeaderLogo: &p.HeaderLogo, appearance.Favicon: &p.Favicon,
	} {
		switch {
		case !sent.Set:
		case sent.Null:
			out[of] = nil
		default:
			made, err := s.image(of, &sent.Value)
			if err != nil {
				return nil, err
			}
			out[of] = made
		}
	}
	return out, nil
}

func (s *Server) image(of appearance.Image, file *api.File) (_ *appearance.Picture, err error) {
	from, err := file.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	return s.Appearance.Read(of, file.Name, from)
}

func (s *Server) updateAppearance(ctx context.Context, as authz.Actor, p appearanceParams) (appearanceEntity, error) {
	images, err := s.images(&p)
	if err != nil {
		return appearanceEntity{}, err
	}
	a, err := s.Appearance.Update(ctx, as, appearance.Changes{Attributes: p.Attributes, Images: images})
	if err != nil {
		return appearanceEntity{}, err
	}
	return newAppearance(a), nil
}
