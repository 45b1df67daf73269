package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
	"tenon/internal/transport/rest/api"
)

var _ = Resource("settings", (*Server).settingRoutes)

func (s *Server) settingRoutes() []*api.Route {
	last := &lastSettings{}
	get := func(ctx context.Context, as authz.Actor, _ struct{}) (settingsEntity, error) {
		found, err := s.Instance.Find(ctx, as)
		if err != nil {
			return settingsEntity{}, err
		}
		return last.of(found)
	}
	return api.Scoped(nil,
		api.Get("/application/settings", get).Doc("Get the application settings").Needs(authz.AdminSettings),
		api.Put("/application/settings", s.updateSettings).Timed().Always().Doc("Update the application settings").Needs(authz.AdminSettings),
	)
}

// settingsEntity shows all settings but those that are hidden. Its fields come from the table of the settings.
type settingsEntity struct {
	of   *setting.Settings
	text []byte // what MarshalJSON returns; nil before the first call
}

// lastSettings keeps the answer for the settings in force: it has hundreds of values, and is the same for all who may read it.
type lastSettings struct {
	entity atomic.Pointer[settingsEntity]
}

func (l *lastSettings) of(s *setting.Settings) (settingsEntity, error) {
	if last := l.entity.Load(); last != nil && last.of == s {
		return *last, nil
	}
	text, err := settingsEntity{of: s}.MarshalJSON()
	if err != nil {
		return settingsEntity{}, err
	}
	made := settingsEntity{s, text}
	l.entity.Store(&made)
	return made, nil
}

// settingAttribute is an attribute of the answer.
type settingAttribute struct {
	name, doc string
	typ       reflect.Type
	value     func(s *setting.Settings) any
}

// settingAttributes are those of the answer, in its order.
var settingAttributes = sync.OnceValue(func() []settingAttribute {
	out := []settingAttribute{
		{"id", "", reflect.TypeFor[int](), func(*setting.Settings) any { return 1 }},
		{"created_at", "", reflect.TypeFor[api.Time](), func(s *setting.Settings) any { return api.Time(s.CreatedAt()) }},
		{"updated_at", "", reflect.TypeFor[api.Time](), func(s *setting.Settings) any { return api.Time(s.UpdatedAt()) }},
	}
	for _, entry := range setting.Table() {
		if entry.Hidden {
			continue
		}
		shown := settingAttribute{entry.Name, entry.Doc, entry.Type, entry.Value}
		if entry.Name == "polling_interval_multiplier" {
			shown.typ, shown.value = reflect.TypeFor[string](), func(s *setting.Settings) any { return decimal(s.PollingIntervalMultiplier) }
		}
		out = append(out, shown)
		for _, name := range entry.Aliases {
			out = append(out, settingAttribute{name, "Deprecated name of " + entry.Name, shown.typ, shown.value})
		}
		if entry.Raw != "" {
			out = append(out, settingAttribute{entry.Raw, "Entries of " + entry.Name + ", one a line", reflect.TypeFor[string](), func(s *setting.Settings) any {
				return strings.Join(entry.Value(s).([]string), "\n")
			}})
		}
	}
	for _, name := range housekeepingPeriods {
		out = append(out, settingAttribute{name, "Deprecated name of housekeeping_optimize_repository_period", reflect.TypeFor[int](), func(s *setting.Settings) any {
			return s.HousekeepingOptimizeRepositoryPeriod
		}})
	}
	for _, c := range []struct {
		name  string
		value any // always
	}{
		{"housekeeping_bitmaps_enabled", true},
		{"container_registry_import_max_tags_count", 0},
		{"container_registry_import_max_retries", 0},
		{"container_registry_import_start_max_retries", 0},
		{"container_registry_import_max_step_duration", 0},
		{"container_registry_pre_import_tags_rate", 0},
		{"container_registry_pre_import_timeout", 0},
		{"container_registry_import_timeout", 0},
		{"container_registry_import_target_plan", ""},
		{"container_registry_import_created_before", (*api.Time)(nil)}, // some clients read a time, or nothing,
		{"gitlab_product_usage_data_source", ""},
	} {
		out = append(out, settingAttribute{c.name, "", reflect.TypeOf(c.value), func(*setting.Settings) any { return c.value }})
	}
	return out
})

// housekeepingPeriods are older names of one period, beside the alias that a request may send.
var housekeepingPeriods = []string{"housekeeping_full_repack_period", "housekeeping_gc_period"}

// MarshalJSON writes the settings in the order of their table.
func (e settingsEntity) MarshalJSON() ([]byte, error) {
	if e.text != nil {
		return e.text, nil
	}
	var b bytes.Buffer
	next := byte('{')
	for _, a := range settingAttributes() {
		text, err := json.Marshal(a.value(e.of))
		if err != nil {
			return nil, fmt.Errorf("encode setting %s: %w", a.name, err)
		}
		b.WriteByte(next)
		next = ','
		fmt.Fprintf(&b, "%q:", a.name)
		b.Write(text)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// decimal writes a number with at least one digit after the point.
func decimal(n float64) string {
	text := fmt.Sprint(n)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}

// settingsShape is a struct that is encoded as the answer is.
var settingsShape = sync.OnceValue(func() reflect.Type {
	var fields []reflect.StructField
	for _, a := range settingAttributes() {
		fields = append(fields, reflect.StructField{
			Name: fmt.Sprint("F", len(fields)), Type: a.typ, Tag: reflect.StructTag(fmt.Sprintf("json:%q doc:%q", a.name, a.doc)),
		})
	}
	return reflect.StructOf(fields)
})

// Shape is for the documentation.
func (settingsEntity) Shape() reflect.Type { return settingsShape() }

// updateSettingsParams are the settings that a request sends.
type updateSettingsParams struct {
	values map[string]any  // by name
	sent   map[string]bool // names as they were sent, aliases among them
}

// updateShape declares a parameter for each setting, each alias and each older name.
var updateShape = sync.OnceValue(func() reflect.Type {
	var fields []reflect.StructField
	add := func(name string, t reflect.Type, tags ...string) {
		tag := fmt.Sprintf("param:%q", name)
		for i := 0; i < len(tags); i += 2 {
			if tags[i+1] != "" {
				tag += fmt.Sprintf(" %s:%q", tags[i], tags[i+1])
			}
		}
		fields = append(fields, reflect.StructField{Name: fmt.Sprint("F", len(fields)), Type: t, Tag: reflect.StructTag(tag)})
	}
	rule := func(tag string) {
		fields = append(fields, reflect.StructField{
			Name: "_", PkgPath: "tenon", Type: reflect.TypeFor[struct{}](), Tag: reflect.StructTag(tag),
		})
	}
	for _, entry := range setting.Table() {
		if entry.ReadOnly {
			continue
		}
		t := sentAs(entry)
		add(entry.Name, t, "values", strings.Join(entry.Values, ","), "doc", entry.Doc)
		for _, name := range entry.Aliases {
			add(name, t, "values", strings.Join(entry.Values, ","), "doc", "Deprecated name of "+entry.Name)
		}
	}
	add("performance_bar_allowed_group_id", reflect.TypeFor[api.Opt[string]](), "doc", "Deprecated name of performance_bar_allowed_group_path")
	for _, legacy := range setting.LegacyNames() {
		t := reflect.TypeFor[api.Opt[string]]()
		if strings.HasSuffix(legacy, "_enabled") {
			t = reflect.TypeFor[api.Opt[bool]]()
		}
		add(legacy, t, "doc", "Deprecated")
	}
	rule(`atleastone:"*"`)
	rule(`exclusive:"signin_enabled,password_authentication_enabled,password_authentication_enabled_for_web"`)
	return reflect.StructOf(fields)
})

// sentAs is the type of the parameter of a setting.
func sentAs(entry *setting.Entry) reflect.Type {
	t := entry.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Bool:
		return reflect.TypeFor[api.Opt[bool]]()
	case reflect.Int, reflect.Int64:
		return reflect.TypeFor[api.Opt[int64]]()
	case reflect.Float64:
		return reflect.TypeFor[api.Opt[float64]]()
	case reflect.String:
		return reflect.TypeFor[api.Opt[string]]()
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Int64 {
			return reflect.TypeFor[api.Ints]()
		}
		return reflect.TypeFor[api.Strings]()
	}
	return t
}

// Declare returns the type that declares the parameters.
func (*updateSettingsParams) Declare() reflect.Type { return updateShape() }

// Take keeps what was sent.
func (p *updateSettingsParams) Take(v reflect.Value) {
	p.values, p.sent = map[string]any{}, map[string]bool{}
	for i := range v.NumField() {
		name := v.Type().Field(i).Tag.Get("param")
		if name == "" {
			continue // a rule
		}
		value, sent := sentValue(v.Field(i))
		entry := setting.Lookup(name)
		if sent {
			p.sent[name] = true
		}
		if !sent || entry != nil && entry.Name != name && p.has(entry.Name) {
			continue
		}
		if entry != nil && !entry.ReadOnly {
			name = entry.Name
		}
		p.values[name] = value
	}
}

func (p *updateSettingsParams) has(name string) bool {
	_, ok := p.values[name]
	return ok
}

// sentValue returns the value of a parameter, nil for null.
func sentValue(v reflect.Value) (value any, sent bool) {
	switch o := v.Interface().(type) {
	case api.Opt[bool]:
		return orNull(o)
	case api.Opt[int64]:
		return orNull(o)
	case api.Opt[float64]:
		return orNull(o)
	case api.Opt[string]:
		return orNull(o)
	case api.Strings:
		return []string(o), o != nil
	case api.Ints:
		return []int64(o), o != nil
	}
	return v.Interface(), !v.IsNil()
}

func orNull[T any](o api.Opt[T]) (any, bool) {
	if o.Null {
		return nil, o.Set
	}
	return o.Value, o.Set
}

// companions refuses a flag that is turned on without what has to be sent with it.
func (p *updateSettingsParams) companions() error {
	var wrong []string
	for _, entry := range setting.Table() {
		if p.values[entry.Name] != true {
			continue
		}
		for _, name := range entry.With {
			if text := name + " is missing"; !p.has(name) && !slices.Contains(wrong, text) {
				wrong = append(wrong, text)
			}
		}
	}
	if p.values["housekeeping_enabled"] == true {
		wrong = append(wrong, p.periods()...)
	}
	if len(wrong) == 0 {
		return nil
	}
	return &api.Refusal{Status: http.StatusBadRequest, Text: strings.Join(wrong, ", ")}
}

// periods says what is wrong with the periods of housekeeping where it is turned on.
func (p *updateSettingsParams) periods() []string {
	const old, now = "housekeeping_incremental_repack_period", "housekeeping_optimize_repository_period"
	var wrong []string
	switch {
	case p.sent[old] && p.sent[now]:
		wrong = append(wrong, old+", "+now+" are mutually exclusive")
	case !p.sent[old] && !p.sent[now]:
		wrong = append(wrong, old+", "+now+" are missing, exactly one parameter must be provided")
	}
	legacy, sent := append(slices.Clone(housekeepingPeriods), old), 0
	for _, name := range legacy {
		if p.sent[name] {
			sent++
		}
	}
	if sent > 0 && sent < len(legacy) {
		wrong = append(wrong, strings.Join(legacy, ", ")+" provide all or none of parameters")
	}
	return wrong
}

func (s *Server) updateSettings(ctx context.Context, as authz.Actor, p updateSettingsParams) (settingsEntity, error) {
	if err := p.companions(); err != nil {
		return settingsEntity{}, err
	}
	changed, err := s.Instance.Update(ctx, as, p.values)
	return settingsEntity{of: changed}, err
}
