package api_test

import (
	"strings"
	"testing"
)

const (
	unauthorized = `{"message":"401 Unauthorized"}`
	scopeBody    = `{"error":"insufficient_scope","error_description":"The request requires higher privileges than provided by the access token.","scope":"`
)

func TestKit_authentication(t *testing.T) {
	k := (&toy{}).kit()
	const form = "\nContent-Type: application/x-www-form-urlencoded"
	invalid := func(text string) string {
		return `{"error":"invalid_token","error_description":"` + text + `"}`
	}
	tests := []struct {
		name, request string
		status        int
		body          string
	}{
		{"none where required", "GET /user", 401, unauthorized},
		{"none where public", "GET /things/1", 200, `{"as":"","param":"1"}`},
		{"header", "GET /user\nPRIVATE-TOKEN: ann", 200, `{"as":"ann","param":null}`},
		{"header in any case", "GET /user\nprivate-token: ann", 200, `{"as":"ann","param":null}`},
		{"parameter", "GET /user?private_token=ann", 200, `{"as":"ann","param":null}`},
		{"parameter wins over header", "GET /user?private_token=root\nPRIVATE-TOKEN: ann", 200, `{"as":"root","param":null}`},
		{"form parameter", "POST /user" + form + "\n\nprivate_token=ann", 201, `{"as":"ann","param":null}`},
		{"form parameter of an unknown token", "POST /user" + form + "\n\nprivate_token=x", 401, unauthorized},
		{"json parameter", "POST /user\nContent-Type: application/json\n\n{\"private_token\":\"ann\"}", 201, `{"as":"ann","param":null}`},
		{"bearer", "GET /user\nAuthorization: Bearer ann", 200, `{"as":"ann","param":null}`},
		{"bearer in lower case", "GET /user\nAuthorization: bearer ann", 200, `{"as":"ann","param":null}`},
		{"access_token", "GET /user?access_token=ann", 200, `{"as":"ann","param":null}`},
		{"bearer_token", "GET /user?bearer_token=ann", 200, `{"as":"ann","param":null}`},
		{"bearer twice", "GET /user?access_token=ann\nAuthorization: Bearer ann", 400, `{"error":"invalid_request","error_description":"Both Authorization header and payload includes access token."}`},
		{"unknown", "GET /user\nPRIVATE-TOKEN: nobody", 401, unauthorized},
		{"unknown where public", "GET /things/1\nPRIVATE-TOKEN: nobody", 401, unauthorized},
		{"unknown bearer where public", "GET /things/1\nAuthorization: Bearer nobody", 401, unauthorized},
		{"job token", "GET /things/1\nJOB-TOKEN: x", 401, unauthorized},
		{"job token parameter", "GET /things/1?job_token=x", 401, unauthorized},
		{"deploy token", "GET /things/1\nDeploy-Token: x", 401, unauthorized},
		{"basic is no credential here", "GET /things/1\nAuthorization: Basic YTpi", 200, `{"as":"","param":"1"}`},
		{"empty header", "GET /things/1\nPRIVATE-TOKEN: ", 200, `{"as":"","param":"1"}`},
		{"expired", "GET /user\nPRIVATE-TOKEN: expired", 401, invalid("Token is expired. You can either do re-authorization or token refresh.")},
		{"revoked", "GET /user\nPRIVATE-TOKEN: revoked", 401, invalid("Token was revoked. You have to re-authorize from the user.")},
		{"impersonation off", "GET /user\nPRIVATE-TOKEN: impersonation", 401, invalid("Token is an impersonation token but impersonation was disabled.")},
		{"blocked", "GET /user\nPRIVATE-TOKEN: blocked", 403, `{"message":"403 Forbidden - Your account has been blocked."}`},
		{"NUL", "GET /user?private_token=a%00", 400, `Bad Request`},
		{"invalid UTF-8", "GET /user\nPRIVATE-TOKEN: a\xff", 400, `Bad Request`},
		{"401 before parameters", "POST /things" + form + "\n\ncount=x", 401, unauthorized},

		{"read_api reads", "GET /user\nPRIVATE-TOKEN: reader", 200, `{"as":"ann","param":null}`},
		{"read_api does not write", "POST /things\nPRIVATE-TOKEN: reader", 403, scopeBody + `api read_api"}`},
		{"read_user reads users", "GET /user\nPRIVATE-TOKEN: profile", 200, `{"as":"ann","param":null}`},
		{"read_user does not write", "POST /user\nPRIVATE-TOKEN: profile", 403, scopeBody + `read_user api read_api"}`},
		{"read_user reads nothing else", "GET /things/1\nPRIVATE-TOKEN: profile", 403, scopeBody + `api read_api"}`},
		{"git scopes do not reach", "GET /user\nPRIVATE-TOKEN: git", 403, scopeBody + `read_user api read_api"}`},
		{"any scope", "GET /self\nPRIVATE-TOKEN: git", 202, `{"as":"ann","param":null}`},

		{"sudo by id", "GET /user?sudo=2\nPRIVATE-TOKEN: root", 200, `{"as":"ann","param":null}`},
		{"sudo by name", "GET /user?sudo=ANN\nPRIVATE-TOKEN: root", 200, `{"as":"ann","param":null}`},
		{"sudo header", "GET /user\nSudo: ann\nPRIVATE-TOKEN: root", 200, `{"as":"ann","param":null}`},
		{"sudo parameter wins", "GET /user?sudo=2\nSudo: 123\nPRIVATE-TOKEN: root", 200, `{"as":"ann","param":null}`},
		{"sudo in a body", "POST /user" + form + "\nPRIVATE-TOKEN: root\n\nsudo=2", 201, `{"as":"ann","param":null}`},
		{"sudo as number", "POST /user\nContent-Type: application/json\nPRIVATE-TOKEN: root\n\n{\"sudo\":2}", 201, `{"as":"ann","param":null}`},
		{"sudo on a public endpoint", "GET /things/1\nSudo: 2\nPRIVATE-TOKEN: root", 200, `{"as":"ann","param":"1"}`},
		{"sudo of nobody", "GET /things/1?sudo=2", 401, unauthorized},
		{"sudo of no administrator", "GET /user?sudo=2\nPRIVATE-TOKEN: ann", 403, `{"message":"403 Forbidden - Must be admin to use sudo"}`},
		{"sudo without a token", "GET /user?sudo=2\nPRIVATE-TOKEN: root-session", 403, `{"message":"403 Forbidden - Must be authenticated using an OAuth or personal access token to use sudo"}`},
		{"sudo without the scope", "GET /user?sudo=2\nPRIVATE-TOKEN: root-api", 403, scopeBody + `sudo"}`},
		{"sudo to nobody", "GET /user?sudo=123\nPRIVATE-TOKEN: root", 404, `{"message":"404 User with ID or username '123' Not Found"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, k, tt.request)
			if got.Code != tt.status || got.Body.String() != tt.body {
				t.Errorf("%s\n got %d %s\nwant %d %s", tt.request, got.Code, got.Body, tt.status, tt.body)
			}
			want := ""
			if strings.Contains(tt.body, "invalid_token") {
				_, text, _ := strings.Cut(tt.body, `"error_description":`)
				want = `Bearer realm="Protected by OAuth 2.0", error="invalid_token", error_description=` + strings.TrimSuffix(text, "}")
			}
			if h := got.Header().Get("WWW-Authenticate"); h != want {
				t.Errorf("WWW-Authenticate is %q, want %q", h, want)
			}
		})
	}
}

func TestKit_logKeepsSecretsOut(t *testing.T) {
	s := &toy{}
	k := s.kit()
	secret := "hunter2secret"
	call(t, k, "GET /user?private_token="+secret+"&password="+secret+"&a[secret]="+secret+"&sort=up&sudo="+secret+"&KEY="+secret)
	call(t, k, "POST /user\nPRIVATE-TOKEN: "+secret+"\nAuthorization: Bearer "+secret)
	call(t, k, "POST /things\nPRIVATE-TOKEN: ann\nContent-Type: application/json\n\n"+
		`{"name":"x","new_password":"`+secret+`","list":[{"value":"`+secret+`"}],"body":"`+secret+`"}`)
	log := s.log.String()
	if strings.Contains(log, secret) {
		t.Errorf("the log holds a secret:\n%s", log)
	}
	for _, want := range []string{`"sort":"up"`, `"password":"[FILTERED]"`, `"a":"..."`, `"route":"/things"`, `"status":201`, `"user":"ann"`, `"token_id":7`} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if lines := strings.Count(log, "\n"); lines != 3 {
		t.Errorf("three requests wrote %d lines", lines)
	}
}
