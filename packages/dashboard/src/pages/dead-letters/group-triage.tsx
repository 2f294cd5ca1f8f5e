/** The assignee, the snooze and the notes of a group. */
import { useState } from 'react';
import type { DeadLetterAssignees, DeadLetterGroup } from '../../../../everstep/src/contract/dead-letter-groups.js';
import { path } from '../../api/client.js';
import { usePermissions } from '../../api/instances.js';
import { useApi, useChange } from '../../api/queries.js';
import { ActionButton } from '../../components/action-button.js';
import { SelectField, TextArea } from '../../components/fields.js';
import { actorName } from '../../components/people/actor-name.js';
import { useNow } from '../../components/times/clock.js';
import { countText } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';

interface GroupProps {
  readonly group: DeadLetterGroup;
}

type Change = { readonly method: 'PUT' | 'POST'; readonly body: object } | { readonly method: 'DELETE' };

/** Returns a function that changes a part of the group, such as `snooze`, and whether a change is in progress. */
function useGroupChange({ fingerprint }: DeadLetterGroup) {
  const change = useChange();
  const [busy, setBusy] = useState(false);
  const send = async (part: string, request: Change, successText: string): Promise<boolean> => {
    setBusy(true);
    const url = `${path`/v2/workflows/dlq/groups/${fingerprint}`}/${part}`;
    const outcome = await change({ url, ...request, topics: ['dlq'], successText, showFailure: true });
    setBusy(false);
    return outcome.ok;
  };
  return { busy, send };
}

function ByActor({ at, by }: { readonly at: number; readonly by: string }) {
  return (
    <span className="field-hint">
      <TimeText unixMs={at} style="relative" /> by {actorName(by)}
    </span>
  );
}

function Assignee({ group }: GroupProps) {
  const { canWrite } = usePermissions();
  const { send } = useGroupChange(group);
  const { data } = useApi<DeadLetterAssignees>({
    topic: 'settings',
    name: 'assignees',
    url: '/v2/workflows/dlq/assignees',
    enabled: canWrite,
  });
  const { assignment } = group;
  const assignee = assignment?.assignee ?? '';
  // A user who has lost access can still be assigned.
  const users = [...new Set([...(data?.assignees ?? []), ...(assignment ? [assignee] : [])])];
  return (
    <SelectField
      label="Assignee"
      value={assignee}
      disabled={!canWrite}
      onChange={(value) =>
        send(
          'assignee',
          { method: 'PUT', body: { assignee: value === '' ? null : value } },
          value === '' ? 'Removed the assignee' : `Assigned to ${value}`,
        )
      }
      after={assignment === null ? null : <ByActor {...assignment} />}
    >
      <option value="">No assignee</option>
      {users.map((user) => (
        <option key={user} value={user}>
          {user}
        </option>
      ))}
    </SelectField>
  );
}

const HOUR_MS = 3_600_000;
const SNOOZES = [
  { text: 'For 4 hours', hours: 4 },
  { text: 'For 1 day', hours: 24 },
  { text: 'For 7 days', hours: 168 },
  { text: 'For 30 days', hours: 720 },
] as const;

function Snooze({ group }: GroupProps) {
  const { canWrite } = usePermissions();
  const { send } = useGroupChange(group);
  const { snooze } = group;
  return (
    <SelectField
      label="Snooze"
      value={snooze === null ? '' : 'set'}
      disabled={!canWrite}
      hint="A snoozed group does not count as new or regressed and triggers no alert. The snooze ends early if the group regresses."
      onChange={(value) => {
        if (value === '') return send('snooze', { method: 'PUT', body: { until: null } }, 'Ended the snooze');
        const until = Date.now() + Number(value) * HOUR_MS;
        return send('snooze', { method: 'PUT', body: { until } }, 'Snoozed the group');
      }}
      after={
        snooze === null ? null : (
          <>
            <SnoozeText group={group} />
            <ByActor {...snooze} />
          </>
        )
      }
    >
      <option value="">Not snoozed</option>
      {snooze === null ? null : <option value="set">Snoozed</option>}
      {SNOOZES.map(({ text, hours }) => (
        <option key={hours} value={hours}>
          {text}
        </option>
      ))}
    </SelectField>
  );
}

/** Shows until when the group is snoozed, or when its snooze ended. Renders nothing without a snooze. */
export function SnoozeText({ group: { snooze } }: GroupProps) {
  const now = useNow();
  if (snooze === null) return null;
  const text = now < snooze.until ? 'Snoozed until' : 'Snooze ended';
  return (
    <span>
      {text} <TimeText unixMs={snooze.until} label={text} />
    </span>
  );
}

function Notes({ group }: GroupProps) {
  const { readOnlyReason } = usePermissions();
  const { busy, send } = useGroupChange(group);
  const [text, setText] = useState('');
  const add = async () => {
    if (await send('notes', { method: 'POST', body: { text } }, 'Added the note')) setText('');
  };
  return (
    <div className="field group-notes">
      <TextArea
        label={`Notes${group.noteCount === 0 ? '' : ` (${countText(group.noteCount)})`}`}
        rows={2}
        maxLength={1000}
        placeholder="What is known about the cause"
        value={text}
        onChange={setText}
      />
      <div>
        <ActionButton
          small
          disabledReason={readOnlyReason ?? (text.trim() === '' ? 'Enter a note first' : undefined)}
          busy={busy}
          onClick={add}
        >
          Add note
        </ActionButton>
      </div>
      <ul>
        {group.notes.map((note) => (
          <li key={note.noteId}>
            <p>{note.text}</p>
            <div className="line">
              <ByActor {...note} />
              <ActionButton
                small
                variant="quiet"
                disabledReason={readOnlyReason}
                busy={busy}
                aria-label={`Delete note by ${actorName(note.by)}`}
                onClick={() => send(path`notes/${note.noteId}`, { method: 'DELETE' }, 'Deleted the note')}
              >
                Delete
              </ActionButton>
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** The controls on the card of a group. */
export function GroupTriage({ group }: GroupProps) {
  return (
    <div className="card-body group-triage">
      <Assignee group={group} />
      <Snooze group={group} />
      <Notes group={group} />
    </div>
  );
}

/** Lines in the row of a group. Renders nothing if the group has no assignee, snooze or note. */
export function GroupTriageLines({ group }: GroupProps) {
  const { assignment, snooze, notes, noteCount } = group;
  const [newest] = notes;
  return (
    <>
      {assignment === null && snooze === null ? null : (
        <span className="group-details">
          {assignment === null ? null : <span>Assigned to {assignment.assignee}</span>}
          <SnoozeText group={group} />
        </span>
      )}
      {newest === undefined ? null : (
        <span className="group-details group-note">
          <span className="group-note-text">“{newest.text}”</span>
          <span>
            {actorName(newest.by)}, <TimeText unixMs={newest.at} style="relative" label="Note" />
            {noteCount > 1 ? ` · ${countText(noteCount)} notes` : ''}
          </span>
        </span>
      )}
    </>
  );
}
