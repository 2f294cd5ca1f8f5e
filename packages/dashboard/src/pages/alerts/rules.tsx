/** Alert rules: what they watch, and which destinations they notify. */
import { useState } from 'react';
import type { AlertRuleEntry } from '../../../../everstep/src/contract/alerts/alerts.js';
import { path } from '../../api/client.js';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextField } from '../../components/fields.js';
import { StatusBadge } from '../../components/status-badge.js';
import type { Column } from '../../components/tables/data-table.js';
import { conditionOf, isKind, KINDS, type Kind, ruleText, textsOf } from './conditions.js';
import { Checks, ChoiceField } from './fields.js';
import { NamedSection } from './named-section.js';
import { useDestinations } from './use-destinations.js';

const KIND_TEXTS = Object.fromEntries(Object.entries(KINDS).map(([kind, { text }]) => [kind, text]));

const COLUMNS: readonly Column<AlertRuleEntry>[] = [
  {
    id: 'name',
    header: 'Name',
    width: 'minmax(0, 1fr)',
    cell: ({ name }) => (
      <div className="clip" title={name}>
        {name}
      </div>
    ),
  },
  {
    id: 'condition',
    header: 'Condition',
    width: 'minmax(0, 2fr)',
    from: 'medium',
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
    from: 'wide',
    cell: ({ destinations }) =>
      destinations.length === 0 ? <span className="muted">only listed</span> : destinations.join(', '),
  },
  {
    id: 'enabled',
    header: 'State',
    width: '112px',
    from: 'medium',
    cell: ({ enabled }) =>
      enabled ? <StatusBadge tone="good">Enabled</StatusBadge> : <StatusBadge tone="quiet">Disabled</StatusBadge>,
  },
];

const ownTimeZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;

function RuleForm({ row, onClose }: { readonly row: AlertRuleEntry | null; readonly onClose: () => void }) {
  const known = useDestinations();
  const change = useChange();
  const [name, setName] = useState(row?.name ?? '');
  const [kind, setKind] = useState<Kind>(row?.condition.kind ?? 'run-failed');
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>(row ? textsOf(row.condition) : {});
  const [destinations, setDestinations] = useState<readonly string[]>(row?.destinations ?? []);
  const [enabled, setEnabled] = useState(row?.enabled ?? true);
  const [quiet, setQuiet] = useState(row?.quietHours ?? { from: '', to: '', timeZone: ownTimeZone() });
  return (
    <ConfirmDialog
      title={row ? `Edit ${row.name}` : 'New rule'}
      open
      onClose={onClose}
      confirmText="Save rule"
      disabled={name.trim() === ''}
      onConfirm={() =>
        change({
          method: 'PUT',
          url: path`/v2/alerts/rules/${name.trim()}`,
          body: {
            ...{ enabled, condition: conditionOf(kind, texts), destinations },
            ...(quiet.from.trim() === '' ? {} : { quietHours: quiet }),
          },
          topics: ['settings'],
          done: `Saved rule ${name.trim()}`,
        })
      }
    >
      <TextField label="Name" value={name} onChange={setName} disabled={row !== null} />
      <ChoiceField
        label="Opens an alert when"
        value={kind}
        choices={KIND_TEXTS}
        onChange={(value) => (isKind(value) ? setKind(value) : undefined)}
      />
      {KINDS[kind].fields.map(({ name: field, initial, type: _type, unit: _unit, ...shown }) => (
        <TextField
          key={`${kind} ${field}`}
          {...shown}
          value={texts[field] ?? initial}
          onChange={(value) => setTexts({ ...texts, [field]: value })}
        />
      ))}
      <Checks
        legend="Notify"
        names={known.map((destination) => destination.name)}
        checked={destinations}
        onChange={setDestinations}
        empty="There are no destinations. Alerts are only listed here."
      />
      <TextField
        label="Quiet from (optional)"
        hint="For example, 22:00. Notices wait until the quiet hours end."
        value={quiet.from}
        onChange={(from) => setQuiet({ ...quiet, from })}
      />
      {quiet.from === '' ? null : (
        <>
          <TextField
            label="Quiet until"
            hint="For example, 07:00."
            value={quiet.to}
            onChange={(to) => setQuiet({ ...quiet, to })}
          />
          <TextField label="Time zone" value={quiet.timeZone} onChange={(timeZone) => setQuiet({ ...quiet, timeZone })} />
        </>
      )}
      <label className="line">
        <input type="checkbox" checked={enabled} onChange={(event) => setEnabled(event.target.checked)} />
        <span>Enabled</span>
      </label>
    </ConfirmDialog>
  );
}

export const Rules = () => (
  <NamedSection<AlertRuleEntry>
    title="Rules"
    what="rule"
    url="/v2/alerts/rules"
    urlOf={(name) => path`/v2/alerts/rules/${name}`}
    field="rules"
    columns={COLUMNS}
    empty="A rule opens an alert and notifies destinations, for example when a run fails."
    deletion="Its open alerts end without a notice."
    form={(props) => <RuleForm {...props} />}
  />
);
