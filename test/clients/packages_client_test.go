package clients

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"tenon/test/servertest"
)

// TestClient_packages does with the Go client all that it can do with packages, generic packages and their protection rules.
func TestClient_packages(t *testing.T) {
	t.Parallel()
	servertest.Each(t, func(t *testing.T, database string) {
		s := &story{server: servertest.Start(t, database), began: time.Now().Add(-time.Second)}
		s.root = s.client(t, servertest.RootToken)
		group := got(s.root.Groups.CreateGroup(&gitlab.CreateGroupOptions{Name: new("Tools"), Path: new("tools")})).must(t)
		p := got(s.root.Projects.CreateProject(&gitlab.CreateProjectOptions{Name: new("Packages"), NamespaceID: new(group.ID)})).must(t)
		s.benID, s.benToken, s.ben = s.person(t, "ben", "Ben")
		got(s.root.GroupMembers.AddGroupMember(group.ID, &gitlab.AddGroupMemberOptions{UserID: new(s.benID), AccessLevel: new(gitlab.DeveloperPermissions)})).must(t)

		content := bytes.Repeat([]byte{0, 1, 255}, 100_000)
		sum := sha256.Sum256(content)
		for _, version := range []string{"1.0", "1.1"} {
			f := got(s.ben.GenericPackages.PublishPackageFile(p.ID, "tool", version, "bin/tool", bytes.NewReader(content), &gitlab.PublishPackageFileOptions{Select: new(gitlab.SelectPackageFile)})).must(t)
			if f.FileName != "bin/tool" || f.Size != int64(len(content)) || f.FileSHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("published: %+v", f)
			}
		}
		if b := got(s.ben.GenericPackages.DownloadPackageFile(p.PathWithNamespace, "tool", "1.1", "bin/tool")).must(t); !bytes.Equal(b, content) {
			t.Errorf("downloaded %d bytes", len(b))
		}
		got(s.ben.GenericPackages.DownloadPackageFile(p.ID, "tool", "1.2", "bin/tool")).refused(t, http.StatusNotFound, "")
		got(s.ben.GenericPackages.PublishPackageFile(p.ID, "hidden", "1.0", "x", strings.NewReader("x"), &gitlab.PublishPackageFileOptions{Status: new(gitlab.PackageHidden)})).must(t)

		list := got(s.ben.Packages.ListProjectPackages(p.ID, &gitlab.ListProjectPackagesOptions{
			OrderBy: new("version"), Sort: new("desc"), PackageType: new("generic"), PackageName: new("oo"), ListOptions: gitlab.ListOptions{PerPage: 10},
		})).must(t)
		if len(list) != 2 || list[0].Version != "1.1" || list[0].Name != "tool" || list[0].PackageType != "generic" || list[0].Status != "default" || list[0].CreatedAt == nil ||
			!strings.HasSuffix(list[0].Links.WebPath, "/tools/packages/-/packages/"+number(list[0].ID)) || list[0].Links.DeleteAPIPath != "" {
			t.Fatalf("packages: %+v", list)
		}
		if one := got(s.root.Packages.ListProjectPackages(p.ID, &gitlab.ListProjectPackagesOptions{PackageVersion: new("1.0")})).must(t); len(one) != 1 || !strings.HasSuffix(one[0].Links.DeleteAPIPath, number(one[0].ID)) {
			t.Errorf("by version: %+v", one)
		}
		if hidden := got(s.ben.Packages.ListProjectPackages(p.ID, &gitlab.ListProjectPackagesOptions{Status: new("hidden")})).must(t); len(hidden) != 1 || hidden[0].Name != "hidden" {
			t.Errorf("hidden: %+v", hidden)
		}
		if all := got(s.ben.Packages.ListGroupPackages("tools", &gitlab.ListGroupPackagesOptions{ExcludeSubGroups: new(true), OrderBy: new("project_path")})).must(t); len(all) != 2 || all[0].ProjectPath != "tools/packages" {
			t.Errorf("of the group: %+v", all)
		}
		files := got(s.ben.Packages.ListPackageFiles(p.ID, list[0].ID, nil)).must(t)
		if len(files) != 1 || files[0].PackageID != list[0].ID || files[0].FileName != "bin/tool" || files[0].Size != int64(len(content)) || files[0].FileSHA256 != hex.EncodeToString(sum[:]) || len(files[0].FileMD5) != 32 || len(files[0].FileSHA1) != 40 {
			t.Fatalf("files: %+v", files)
		}
		done(s.ben.Packages.DeletePackageFile(p.ID, list[0].ID, files[0].ID)).refused(t, http.StatusForbidden, "")
		done(s.root.Packages.DeletePackageFile(p.ID, list[0].ID, files[0].ID)).must(t)
		if files := got(s.ben.Packages.ListPackageFiles(p.ID, list[0].ID, nil)).must(t); len(files) != 0 {
			t.Errorf("files: %+v", files)
		}
		done(s.ben.Packages.DeleteProjectPackage(p.ID, list[0].ID)).refused(t, http.StatusForbidden, "")
		done(s.root.Packages.DeleteProjectPackage(p.ID, list[0].ID)).must(t)
		done(s.root.Packages.DeleteProjectPackage(p.ID, list[0].ID)).refused(t, http.StatusNotFound, "")

		s.packageRules(t, p.ID)
	})
}

// packageRules protects packages of a project with the Go client.
func (s *story) packageRules(t *testing.T, project int64) {
	t.Helper()
	made := got(s.root.ProtectedPackages.CreatePackageProtectionRules(project, &gitlab.CreatePackageProtectionRulesOptions{
		PackageNamePattern: new("tool*"), PackageType: new("generic"), MinimumAccessLevelForPush: gitlab.NewNullableWithValue(gitlab.ProtectionRuleAccessLevelMaintainer),
	})).must(t)
	if made.ProjectID != project || made.PackageNamePattern != "tool*" || made.PackageType != "generic" || made.MinimumAccessLevelForPush != "maintainer" || made.MinimumAccessLevelForDelete != "" {
		t.Errorf("rule: %+v", made)
	}
	upload := func(name string) answer[*gitlab.GenericPackagesFile] {
		return got(s.ben.GenericPackages.PublishPackageFile(project, name, "2.0", "x", strings.NewReader("x"), nil))
	}
	upload("tools").refused(t, http.StatusForbidden, "Package protected")
	upload("saw").must(t)
	changed := got(s.root.ProtectedPackages.UpdatePackageProtectionRules(project, made.ID, &gitlab.UpdatePackageProtectionRulesOptions{
		PackageNamePattern: new("saw*"), MinimumAccessLevelForDelete: gitlab.NewNullableWithValue(gitlab.ProtectionRuleAccessLevelAdmin),
	})).must(t)
	if changed.PackageNamePattern != "saw*" || changed.MinimumAccessLevelForDelete != "admin" || changed.MinimumAccessLevelForPush != "maintainer" {
		t.Errorf("changed rule: %+v", changed)
	}
	upload("tools").must(t)
	if rules := got(s.root.ProtectedPackages.ListPackageProtectionRules(project, nil)).must(t); len(rules) != 1 || rules[0].ID != made.ID {
		t.Errorf("rules: %+v", rules)
	}
	got(s.ben.ProtectedPackages.ListPackageProtectionRules(project, nil)).refused(t, http.StatusForbidden, "")
	done(s.root.ProtectedPackages.DeletePackageProtectionRules(project, made.ID)).must(t)
	upload("saws").must(t)
}
