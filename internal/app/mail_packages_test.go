package app

import (
	"strings"
	"testing"

	"tenon/internal/base/mail/mailtest"
)

// mails are those that were sent since the last call, once all jobs have run.
func (s *server) mails(post *mailtest.Server) []mailtest.Mail {
	s.tb.Helper()
	s.drained()
	return post.Take()
}

// testMailOfPackages uploads a Debian package that cannot be published: who uploaded it gets mail with the reason.
func testMailOfPackages(t *testing.T, s *server, post *mailtest.Server) {
	p := s.do("mona", "POST", "/projects", obj{"name": "Depot", "initialize_with_readme": true})
	path := "/projects/" + number(p, "id")
	s.do("mona", "POST", path+"/debian_distributions", obj{"codename": "sid"})
	s.mails(post)
	upload := path + "/packages/debian/a_1_amd64.changes"
	if a := s.curl("PUT", upload, "mona:"+s.keys["mona"], "Source: a\n"); a.Code != 201 {
		t.Fatalf("upload: %d %s", a.Code, a.Body)
	}
	list := s.mails(post)
	if len(list) != 1 || !strings.HasPrefix(list[0].To, "mona@") || list[0].Get("Subject") != "Depot | Package could not be published" ||
		!strings.Contains(strings.Join(strings.Fields(list[0].Text), " "), "could not be published: a_1_amd64.changes is not a changes file") {
		t.Errorf("mail of an upload that failed: %v", list)
	}
}
