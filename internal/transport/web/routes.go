package web

import "tenon/internal/core/weburl"

// routes lists all pages; of two that fit, the first counts.
func routes() []route {
	var here weburl.Site
	sign, profile, token, key, session := here.SignIn(""), here.Profile(), here.ProfileTokens(), here.ProfileKeys(), here.ProfileSessions()
	return []route{
		get(sign, (*visit).getSignIn),
		post(sign, (*visit).postSignIn),
		post(here.SignOut(), (*visit).postSignOut),
		get(here.ForgottenPassword(), (*visit).getForgotten),
		get(here.ChoosePassword(""), (*visit).getChoose),
		post(here.ChoosePassword(""), (*visit).postChoose),
		get(here.ExpiredPassword(), (*visit).getExpired),
		post(here.ExpiredPassword(), (*visit).postExpired),
		get(here.Confirmation(), (*visit).getConfirmation),

		own(get(profile, (*visit).getProfile)),
		own(get(token, (*visit).getTokens)),
		own(post(token, (*visit).postToken)),
		own(post(token+"/{id}/revoke", (*visit).postRevokeToken)),
		own(get(key, (*visit).getKeys)),
		own(post(key, (*visit).postKey)),
		own(post(key+"/{id}/delete", (*visit).postDeleteKey)),
		own(get(session, (*visit).getSessions)),
		own(post(session+"/{id}/revoke", (*visit).postRevokeSession)),
		own(get(here.ProfilePassword(), (*visit).getPassword)),
		own(post(here.ProfilePassword(), (*visit).postPassword)),

		get(here.Home(), (*visit).getPlace),
		get("/{place...}", (*visit).getPlace),
		get("/{place...}/-/{page...}", (*visit).getPlace),
	}
}
