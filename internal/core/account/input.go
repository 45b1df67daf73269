package account

import (
	"fmt"
	"math"
	"net/mail"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenon/internal/base/errs"
	"tenon/internal/core/setting"
)

// Input is what an account is made of. The zero value of an optional field leaves the
// choice to the settings or means none.
type Input struct {
	Email    string
	Username string
	Name     string

	// Password is needed unless one of the flags is set: each of them wins over it.
	// ForceRandomPassword makes an account that no user knows a password for;
	// ResetPassword sends its user a link to choose one.
	Password            string
	ForceRandomPassword bool
	ResetPassword       bool

	Admin            bool
	Auditor          bool
	External         *bool
	SkipConfirmation bool
	PrivateProfile   *bool
	CanCreateGroup   *bool
	ProjectsLimit    *int64
	ThemeID          *int64
	ColorSchemeID    *int64
	FileByFile       *bool
	RunnerMinutes    *int64
	ExtraMinutes     *int64

	Details

	// Provider and ExternUID, both or none, are the user's account elsewhere.
	Provider  string
	ExternUID string
}

// Details are the texts of a profile.
type Details struct {
	Bio          string
	Location     *string
	Skype        string
	LinkedIn     string
	Twitter      string
	Discord      string
	WebsiteURL   string
	Organization string
	JobTitle     string
	Pronouns     *string
	Note         *string
}

// What the form of an account allows.
const (
	maxName     = 255
	maxPassword = 128
	maxURL      = 500
	maxTheme    = 11
	maxScheme   = 6
)

// normalize trims names and addresses and folds the case of the address.
func (i *Input) normalize() {
	i.Email = strings.ToLower(strings.TrimSpace(i.Email))
	i.Username = strings.TrimSpace(i.Username)
	i.Name = strings.TrimSpace(i.Name)
}

// validate collects everything that is wrong with the form of the input.
func (i *Input) validate(set *setting.Settings) error {
	var f errs.Fields
	checkEmail(&f, "email", i.Email)
	checkName(&f, i.Name)
	for _, problem := range usernameProblems(i.Username) {
		f.Add("username", problem)
	}
	if !i.ForceRandomPassword && !i.ResetPassword {
		checkPassword(&f, set, i.Password, i.Username, i.Name, i.Email)
	}
	i.check(&f)
	checkNumbers(&f, i.ProjectsLimit, i.ThemeID, i.ColorSchemeID)
	checkMinutes(&f, i.RunnerMinutes, i.ExtraMinutes)
	return f.Err()
}

func checkName(f *errs.Fields, name string) {
	f.Check(name != "", "name", "can't be blank")
	checkLength(f, "name", name, maxName)
}

func checkEmail(f *errs.Fields, field, email string) {
	if email == "" {
		f.Add(field, "can't be blank")
		return
	}
	f.Check(ValidEmail(email), field, "is invalid")
}

// ValidEmail reports whether the text is one bare e-mail address of sane length.
func ValidEmail(text string) bool {
	if len(text) > 254 || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsSpace(r) }) {
		return false
	}
	at := strings.LastIndexByte(text, '@')
	if at < 1 || at == len(text)-1 || strings.ContainsAny(text, `<>"(),:;\[]`) || strings.Contains(text[:at], "@") {
		return false
	}
	parsed, err := mail.ParseAddress(text)
	return err == nil && parsed.Address == text && parsed.Name == ""
}

func checkLength(f *errs.Fields, field, text string, limit int) {
	if utf8.RuneCountInString(text) > limit {
		f.Add(field, fmt.Sprintf("is too long (maximum is %d characters)", limit))
	}
}

// check looks at the texts of a profile.
func (d *Details) check(f *errs.Fields) {
	checkLength(f, "bio", d.Bio, 255)
	checkLength(f, "location", deref(d.Location), 255)
	checkLength(f, "skype", d.Skype, maxURL)
	checkLength(f, "linkedin", d.LinkedIn, maxURL)
	checkLength(f, "twitter", d.Twitter, maxURL)
	checkLength(f, "discord", d.Discord, maxURL)
	checkLength(f, "website_url", d.WebsiteURL, maxURL)
	checkLength(f, "organization", d.Organization, maxURL)
	checkLength(f, "job_title", d.JobTitle, 200)
	checkLength(f, "pronouns", deref(d.Pronouns), 50)
	checkLength(f, "note", deref(d.Note), 1_000_000)
	if u, err := url.Parse(d.WebsiteURL); err != nil || (u.Scheme != "" && u.Scheme != "http" && u.Scheme != "https") {
		f.Add("website_url", "is blocked: Only allowed schemes are http, https")
	}
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func checkNumbers(f *errs.Fields, limit, theme, scheme *int64) {
	f.Range("projects_limit", limit, 0, math.MaxInt32)
	if theme != nil && (*theme < 1 || *theme > maxTheme) {
		f.Add("theme_id", fmt.Sprintf("%d is not a valid theme", *theme))
	}
	if scheme != nil && (*scheme < 1 || *scheme > maxScheme) {
		f.Add("color_scheme_id", fmt.Sprintf("%d is not a valid color scheme", *scheme))
	}
}

func checkMinutes(f *errs.Fields, minutes, extra *int64) {
	f.Range("shared_runners_minutes_limit", minutes, 0, math.MaxInt32)
	f.Range("extra_shared_runners_minutes_limit", extra, 0, math.MaxInt32)
}

// commonPasswords are the first that anybody would try.
const commonPasswords = " 12345678 123456789 1234567890 11111111 00000000 87654321 66666666 88888888 12341234 11223344 " +
	"123123123 123456abc abc123456 abcd1234 abcdefgh aa123456 a1234567 1q2w3e4r 1q2w3e4r5t 1qaz2wsx qwertyui qwertyuiop qwerty12 " +
	"qwerty123 asdfghjkl asdfasdf zxcvbnm1 password password1 password12 password123 passw0rd p@ssw0rd p@ssword " +
	"pa$$word changeme changeit iloveyou sunshine princess football baseball superman starwars trustno1 whatever " +
	"welcome1 welcome123 letmein1 letmein123 admin123 admin1234 administrator master123 dragon123 monkey123 computer " +
	"internet michelle jennifer samsung1 charlie1 "

// checkPassword applies the rules of the settings, and refuses what is guessed first.
func checkPassword(f *errs.Fields, set *setting.Settings, password string, about ...string) {
	if password == "" {
		f.Add("password", "can't be blank")
		return
	}
	if utf8.RuneCountInString(password) < set.MinimumPasswordLength {
		f.Add("password", fmt.Sprintf("is too short (minimum is %d characters)", set.MinimumPasswordLength))
	}
	checkLength(f, "password", password, maxPassword)
	if guessable(password, about) {
		f.Add("password", "must not contain commonly used combinations of words and letters")
	}
	has := func(in func(rune) bool) bool { return strings.ContainsFunc(password, in) }
	f.Check(!set.PasswordNumberRequired || has(unicode.IsDigit), "password", "must contain at least one number")
	f.Check(!set.PasswordLowercaseRequired || has(unicode.IsLower), "password", "must contain at least one lowercase letter")
	f.Check(!set.PasswordUppercaseRequired || has(unicode.IsUpper), "password", "must contain at least one uppercase letter")
	f.Check(!set.PasswordSymbolRequired || has(func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }),
		"password", "must contain at least one symbol character")
}

// guessable reports whether a password is a common one or says who its owner is: parts
// of four letters and more of name, username and address count.
func guessable(password string, about []string) bool {
	folded := strings.ToLower(password)
	if !strings.Contains(folded, " ") && strings.Contains(commonPasswords, " "+folded+" ") {
		return true
	}
	for _, text := range about {
		local, _, _ := strings.Cut(text, "@")
		for _, part := range append(strings.Fields(text), text, local) {
			if utf8.RuneCountInString(part) >= 4 && strings.Contains(folded, strings.ToLower(part)) {
				return true
			}
		}
	}
	return false
}

// external says whether a new user is one from outside, by the instance's rule: where a
// pattern of internal addresses is set, all others are external.
func (i *Input) external(set *setting.Settings) bool {
	if i.External != nil {
		return *i.External
	}
	if pattern := set.UserDefaultInternalRegex; pattern != nil && *pattern != "" && set.UserDefaultExternal {
		if re, err := regexp.Compile("(?i)" + *pattern); err == nil && re.MatchString(i.Email) {
			return false
		}
	}
	return set.UserDefaultExternal
}
