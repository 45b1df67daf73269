package app

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"tenon/internal/base/db"
)

// TestSecrets_audit makes, changes and deletes whatever has a secret, and reads the audit trail over each way: no event has one. The attack: the
// event of a webhook that was deleted kept its credentials (CVE-2024-7586).
func TestSecrets_audit(t *testing.T) {
	t.Parallel()
	eachEngine(t, func(t *testing.T, s *server) {
		const secret = "planted-0123456789abcdef"
		s.user("mona", nil)
		group := "/groups/" + number(s.do("mona", "POST", "/groups", obj{"name": "Yard", "path": "yard"}), "id")
		project := "/projects/" + number(s.do("mona", "POST", "/projects", obj{"name": "Tools", "initialize_with_readme": true}), "id")
		made, changed, deleted := 0, 0, 0
		send := func(as, method, path string, body obj) obj {
			t.Helper()
			a := s.send(t.Context(), request{as: as, method: method, path: path, body: body})
			if a.Code >= http.StatusBadRequest {
				t.Fatalf("%s %s: %d %s", method, path, a.Code, a.Body)
			}
			out := obj{}
			if text := a.Body.Bytes(); len(text) > 0 {
				if err := json.Unmarshal(text, &out); err != nil {
					t.Fatalf("%s %s: %v", method, path, err)
				}
			}
			return out
		}
		s.plant()
		for _, c := range []struct {
			as, path     string
			make, change obj
			key          string // of the answer that names what was made; "" is not deleted
		}{
			{"admin", "/admin/ci/variables", obj{"key": "SECRET", "value": secret}, obj{"value": secret + "2", "masked": true}, "key"},
			{"mona", group + "/variables", obj{"key": "SECRET", "value": secret}, obj{"value": secret + "2", "masked": true}, "key"},
			{"mona", project + "/variables", obj{"key": "SECRET", "value": secret}, obj{"value": secret + "2", "masked": true}, "key"},
			{"mona", project + "/external_status_checks", obj{"name": "check", "external_url": "https://checks.example/?token=" + secret, "shared_secret": secret}, obj{"shared_secret": secret + "2"}, "id"},
			{"mona", project + "/triggers", obj{"description": "nightly"}, obj{"description": "weekly"}, "id"},
			{"mona", project + "/deploy_tokens", obj{"name": "ci", "scopes": []string{"read_repository"}}, nil, "id"},
			{"mona", project + "/access_tokens", obj{"name": "ci", "scopes": []string{"api"}, "access_level": 10, "expires_at": nextMonth()}, nil, "id"},
			{"mona", "/user/runners", obj{"runner_type": "project_type", "project_id": strings.TrimPrefix(project, "/projects/")}, nil, ""},
			{"admin", "/users", obj{"username": "xaver", "name": "Xaver", "email": "x@example.com", "password": secret, "skip_confirmation": true}, obj{"password": secret + "-B", "name": "X"}, "id"},
			{"mona", "/projects", obj{"name": "elsewhere", "import_url": "https://sam:" + secret + "@git.example/a.git"}, obj{"description": "x"}, "id"},
		} {
			one := send(c.as, "POST", c.path, c.make)
			made++
			if c.key == "" {
				continue
			}
			name, ok := one[c.key].(string)
			if !ok {
				name = number(one, c.key)
			}
			if c.change != nil {
				send(c.as, "PUT", c.path+"/"+name, c.change)
				changed++
			}
			send(c.as, "DELETE", c.path+"/"+name, nil)
			deleted++
		}
		send("mona", "PUT", project+"/integrations/asana", obj{"api_key": secret})
		send("mona", "PUT", project+"/integrations/asana", obj{"api_key": secret + "2"})
		send("mona", "DELETE", project+"/integrations/asana", nil)
		if made < 10 || changed < 5 || deleted < 8 {
			t.Fatalf("%d made, %d changed, %d deleted", made, changed, deleted)
		}

		rows, err := db.Select[string](t.Context(), s.db, "SELECT details || ' ' || target_details || ' ' || entity_path || ' ' || author_name FROM audit_events ORDER BY id")
		if err != nil || len(rows) < 20 {
			t.Fatalf("%d events, %v", len(rows), err)
		}
		var exported bytes.Buffer
		if _, err := s.adminAuditExport(t.Context(), AuditInput{}, &exported, func(string) {}); err != nil {
			t.Fatal(err)
		}
		doctor, err := s.adminDoctor(t.Context(), struct{}{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		found, err := json.Marshal(doctor)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{
			"rows": strings.Join(rows, "\n"), "export": exported.String(), "doctor": string(found),
			"list":         s.send(t.Context(), get("admin", "/audit_events?per_page=100")).Body.String(),
			"of a project": s.send(t.Context(), get("mona", project+"/audit_events?per_page=100")).Body.String(),
			"of a group":   s.send(t.Context(), get("mona", group+"/audit_events?per_page=100")).Body.String(),
		} {
			for _, one := range []string{secret, plantedSetting, rootToken, s.keys["mona"]} {
				if at := strings.Index(text, one); at >= 0 {
					t.Errorf("%s: a secret stands in %s", what, around(text, at))
				}
			}
			if token := anyToken.FindString(text); token != "" {
				t.Errorf("%s: a token stands in it: %s", what, token)
			}
		}
		s.noSecretsLogged(secret)
	})
}
