/** Dialog that creates a schedule. It shows the next runs while the user types the cron expression. */
import { useState } from 'react';
import { useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { TextArea, TextField } from '../../components/fields.js';
import { NO_OVERRIDES, OverrideFields, overrideHeaders, overridesIn } from '../../components/run-overrides.js';
import { isWorkflowUrl } from '../../components/urls/workflow-name.js';
import { ScheduleTimes, useScheduleTimes } from './schedule-times.js';

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

export function CreateScheduleDialog({ onClose }: { readonly onClose: () => void }) {
  const [url, setUrl] = useState('');
  const times = useScheduleTimes('0 * * * *', 'UTC');
  const { cron, zone, preview } = times;
  const [scheduleId, setScheduleId] = useState('');
  const [settings, setSettings] = useState(NO_OVERRIDES);
  const [body, setBody] = useState('');
  const change = useChange();
  const isBodyValid = body.trim() === '' || isJson(body);
  return (
    <ConfirmDialog
      title="New schedule"
      open
      onClose={onClose}
      confirmText="Create schedule"
      disabled={!isWorkflowUrl(url) || !preview.ok || !isBodyValid}
      onConfirm={() =>
        change({
          method: 'POST',
          // The rest of the path is the unencoded URL of the workflow.
          url: `/v2/schedules/${url.trim()}`,
          headers: {
            ...overrideHeaders(overridesIn(settings)),
            ...(scheduleId.trim() === '' ? {} : { 'svc-schedule-id': scheduleId.trim() }),
            'svc-cron': cron.trim(),
            'svc-cron-timezone': zone.trim() === '' ? 'UTC' : zone.trim(),
            ...(body.trim() === '' ? {} : { 'content-type': 'application/json' }),
          },
          ...(body.trim() === '' ? {} : { body }),
          topics: ['schedules'],
          successText: 'Created the schedule',
        })
      }
    >
      <TextField
        label="Workflow URL"
        mono
        placeholder="https://app.example.com/order or worker://shop/order"
        value={url}
        onChange={setUrl}
      />
      <ScheduleTimes times={times} />
      <TextArea
        label="Run payload (JSON, optional)"
        problem={isBodyValid ? null : 'Invalid JSON.'}
        rows={4}
        spellCheck={false}
        value={body}
        onChange={setBody}
      />
      <TextField
        label="Id (optional)"
        hint="An existing schedule with this id is replaced."
        mono
        placeholder="Generated if empty"
        value={scheduleId}
        onChange={setScheduleId}
      />
      <OverrideFields purpose="new-run" texts={settings} onChange={setSettings} />
    </ConfirmDialog>
  );
}
