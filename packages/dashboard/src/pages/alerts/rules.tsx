/** Alert rules: their conditions, and the destinations that they notify. */
import { useState } from 'react';
import type { AlertRuleEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { TextField } from '../../components/fields.js';
import type { Column } from '../../components/tables/data-table.js';
import { conditionOf, isKind, KINDS, type Kind, ruleText, textsOf } from './conditions.js';
import { CheckboxGroup, ChoiceField } from './fields.js';
import { type NamedDialog, NamedForm, STATE_COLUMN } from './named-form.js';
import { NamedSection } from './named-section.js';
import { useDestinations } from './use-destinations.js';

const KIND_TEXTS = Object.fromEntries(Object.entries(KINDS).map(([kind, { text }]) => [kind, text]));

const COLUMNS: readonly Column<AlertRuleEntry>[] = [
  {
    id: 'condition',
    header: 'Condition',
    width: 'minmax(0, 2fr)',
    shownFrom: 'medium',
    stackUnder: 'name',
    cell: (rule) => (
      <>
        <div>{KINDS[rule.condition.kind].text}</div>
        <div className="muted clip" title={ruleText(rule)}>
          {ruleText(rule)}
        </div>
      </>
    ),
  },
  {
    id: 'destinations',
    header: 'Destinations',
    width: 'minmax(0, 1fr)',
    shownFrom: 'wide',
    cell: ({ destinations }) => (destinations.length === 0 ? <span className="muted">none</span> : destinations.join(', ')),
  },
  STATE_COLUMN,
];

const ownTimeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

function RuleForm({ dialog }: { readonly dialog: NamedDialog<AlertRuleEntry> }) {
  const { row } = dialog;
  const availableDestinations = useDestinations();
  const [kind, setKind] = useState<Kind>(row?.condition.kind ?? 'run-failed');
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(row ? textsOf(row.condition) : {});
  const [destinations, setDestinations] = useState<readonly string[]>(row?.destinations ?? []);
  const [quietHours, setQuietHours] = useState(row?.quietHours ?? { from: '', to: '', timeZone: ownTimeZone() });
  return (
    <NamedForm
      dialog={dialog}
      hasState
      body={{ condition: conditionOf(kind, texts), destinations, ...(quietHours.from.trim() === '' ? {} : { quietHours }) }}
    >
      <ChoiceField
        label="Opens an alert when"
        value={kind}
        choices={KIND_TEXTS}
        onChange={(value) => (isKind(value) ? setKind(value) : undefined)}
      />
      {KINDS[kind].fields.map(({ name: field, initial, type: _type, unit: _unit, ...fieldProps }) => (
        <TextField
          key={`${kind} ${field}`}
          {...fieldProps}
          value={texts[field] ?? initial}
          onChange={(value) => setTexts({ ...texts, [field]: value })}
        />
      ))}
      <CheckboxGroup
        legend="Notify"
        names={availableDestinations.map((destination) => destination.name)}
        checked={destinations}
        onChange={setDestinations}
        empty="There are no destinations. Alerts appear only on this page."
      />
      <TextField
        label="Quiet from (optional)"
        hint="For example, 22:00. Notices wait until the quiet hours end."
        value={quietHours.from}
        onChange={(from) => setQuietHours({ ...quietHours, from })}
      />
      {quietHours.from === '' ? null : (
        <>
          <TextField
            label="Quiet until"
            hint="For example, 07:00."
            value={quietHours.to}
            onChange={(to) => setQuietHours({ ...quietHours, to })}
          />
          <TextField
            label="Time zone"
            value={quietHours.timeZone}
            onChange={(timeZone) => setQuietHours({ ...quietHours, timeZone })}
          />
        </>
      )}
    </NamedForm>
  );
}

export const Rules = () => (
  <NamedSection<AlertRuleEntry>
    title="Rules"
    objectName="rule"
    url="/v2/alerts/rules"
    field="rules"
    columns={COLUMNS}
    empty="A rule opens an alert and notifies destinations, for example when a run fails."
    deletion="Open alerts of this rule end without a notice."
    form={(dialog) => <RuleForm dialog={dialog} />}
  />
);
