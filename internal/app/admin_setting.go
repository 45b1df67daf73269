package app

import (
	"context"
	"encoding/json"
	"fmt"

	"tenon/internal/core/authz"
	"tenon/internal/core/setting"
)

// AdminSetting is an application setting as "tenon admin" shows it. Secrets are masked.
type AdminSetting struct {
	Name    string          `json:"name"`
	Value   json.RawMessage `json:"value"`
	Default json.RawMessage `json:"default"`
	InForce string          `json:"in_force"`          // what obeys it, "" where it is only stored
	Stored  string          `json:"stored_because"`    // why it is only stored
	Broken  string          `json:"broken,omitempty"`  // why the stored value is not in force; "" where it is
	Changed bool            `json:"changed,omitempty"` // it has another value than its default
}

// SettingListInput selects settings.
type SettingListInput struct {
	Name    string `json:"name"`    // "" is all
	Changed bool   `json:"changed"` // only those that have another value than their default
}

// settingOf finds a setting by its name or an older one.
func settingOf(name string) (*setting.Entry, error) {
	if e := setting.Lookup(name); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("there is no setting %q (tenon admin settings list shows all)", name)
}

func (a *App) adminSettingList(_ context.Context, in SettingListInput, _ func(string)) ([]AdminSetting, error) {
	now, fresh := a.core.Settings.Current(), setting.Defaults()
	entries := setting.Table()
	if in.Name != "" {
		e, err := settingOf(in.Name)
		if err != nil {
			return nil, err
		}
		entries = []*setting.Entry{e}
	}
	out := []AdminSetting{}
	for _, e := range entries {
		s := AdminSetting{Name: e.Name, InForce: e.Effect, Stored: e.Because()}
		for from, to := range map[*setting.Settings]*json.RawMessage{now: &s.Value, &fresh: &s.Default} {
			text, err := json.Marshal(e.Shown(from))
			if err != nil {
				return nil, fmt.Errorf("encode setting %s: %w", e.Name, err)
			}
			*to = text
		}
		for _, b := range now.Broken() {
			if b.Name == e.Name {
				s.Broken = b.Reason
			}
		}
		s.Changed = string(s.Value) != string(s.Default)
		if s.Changed || s.Broken != "" || !in.Changed {
			out = append(out, s)
		}
	}
	return out, nil
}

// SettingInput is another value for a setting.
type SettingInput struct {
	Name  string `json:"name"`
	Value string `json:"value"` // a text, or JSON where the setting is no text
}

func (a *App) adminSettingSet(ctx context.Context, in SettingInput, _ func(string)) (AdminSetting, error) {
	e, err := settingOf(in.Name)
	if err != nil {
		return AdminSetting{}, err
	}
	value, err := e.Parse(in.Value)
	if err != nil {
		return AdminSetting{}, err
	}
	if _, err := a.core.Instance.Update(ctx, authz.System(), map[string]any{e.Name: value}); err != nil {
		return AdminSetting{}, err
	}
	list, err := a.adminSettingList(ctx, SettingListInput{Name: e.Name}, nil)
	if err != nil {
		return AdminSetting{}, err
	}
	return list[0], nil
}
