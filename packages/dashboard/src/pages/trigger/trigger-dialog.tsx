/** Dialog that triggers a run: workflow, payload, id and settings. It offers recent workflows and their recent payloads. */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import type { RunJournal, RunSearchPage, TriggeredRun } from '../../../../everstep/src/contract/runs.js';
import { path, request } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { valueIn } from '../../api/outcome.js';
import { useApi, useChange } from '../../api/queries.js';
import { ConfirmDialog } from '../../components/dialogs.js';
import { SelectField, TextArea, TextField } from '../../components/fields.js';
import { prettyJson } from '../../components/json/json-text.js';
import { NO_OVERRIDES, OverrideFields, overrideHeaders, overridesIn } from '../../components/run-overrides.js';
import { RUN_STATES } from '../../components/run-state.js';
import { exactTime } from '../../components/times/formats.js';
import { toastFailure } from '../../components/toasts.js';
import { isWorkflowUrl } from '../../components/urls/workflow-name.js';
import { contentTypeOf } from './trigger-form.js';

const RECENT_RUNS = 50;
const RECENT_PAYLOADS = 20;

export default function TriggerDialog({ onClose }: { readonly onClose: () => void }) {
  const urlListId = useId();
  const instanceId = useInstanceId();
  const navigate = useNavigate();
  const change = useChange();
  const [url, setUrl] = useState('');
  const [body, setBody] = useState('');
  const [runId, setRunId] = useState('');
  const [settings, setSettings] = useState(NO_OVERRIDES);
  const { urls, payloads, loadPayload } = useRecentRuns(url);
  const contentType = contentTypeOf(body);
  const trigger = async () => {
    const outcome = await change<TriggeredRun>({
      method: 'POST',
      // The rest of the path is the unencoded URL of the workflow.
      url: `/v2/trigger/${url.trim()}`,
      headers: {
        ...overrideHeaders(overridesIn(settings)),
        ...(runId.trim() === '' ? {} : { 'svc-workflow-runid': runId.trim() }),
        ...(contentType === null ? {} : { 'content-type': contentType }),
      },
      ...(contentType === null ? {} : { body }),
      topics: ['runs'],
      successText: 'Triggered the run',
    });
    if (outcome.ok) {
      const { workflowRunId, workflowCreatedAt } = outcome.value;
      // Awaited, because closing the dialog changes the URL of the page that is open at that time.
      await navigate({
        to: '/q/$instanceId/runs/$runId',
        params: { instanceId, runId: workflowRunId },
        search: { createdAt: String(workflowCreatedAt) },
      });
    }
    return outcome;
  };
  return (
    <ConfirmDialog
      title="Trigger run"
      open
      wide
      onClose={onClose}
      confirmText="Trigger run"
      disabled={!isWorkflowUrl(url)}
      onConfirm={trigger}
    >
      <TextField
        label="Workflow URL"
        mono
        list={urlListId}
        placeholder="https://app.example.com/order or worker://shop/order"
        value={url}
        onChange={setUrl}
      />
      <datalist id={urlListId}>
        {urls.map((recentUrl) => (
          <option key={recentUrl} value={recentUrl} />
        ))}
      </datalist>
      {payloads.length === 0 ? null : (
        <SelectField
          label="Recent payloads"
          value=""
          onChange={async (key) => {
            const run = payloads.find((payload) => payload.key === key);
            const text = run === undefined ? null : await loadPayload(run);
            if (text !== null) setBody(text);
          }}
        >
          <option value="">Use the payload of a recent run</option>
          {payloads.map(({ key, text }) => (
            <option key={key} value={key}>
              {text}
            </option>
          ))}
        </SelectField>
      )}
      <TextArea
        label="Payload (optional)"
        hint={
          <span role="status">
            {contentType === null
              ? 'No payload.'
              : contentType === 'application/json'
                ? 'Sent as JSON.'
                : 'Not valid JSON: sent as text.'}
          </span>
        }
        rows={8}
        spellCheck={false}
        value={body}
        onChange={setBody}
      />
      <TextField label="Run id (optional)" mono placeholder="Generated if empty" value={runId} onChange={setRunId} />
      <OverrideFields purpose="new-run" texts={settings} onChange={setSettings} />
    </ConfirmDialog>
  );
}

interface RecentPayload {
  readonly key: string;
  readonly text: string;
  readonly runId: string;
  readonly createdAt: number;
}

/** Returns the workflows of the latest runs, and the latest runs of this workflow. */
function useRecentRuns(url: string) {
  const instanceId = useInstanceId();
  const client = useQueryClient();
  const { data } = useApi<RunSearchPage>({
    topic: 'runs',
    name: 'recent',
    url: '/v2/workflows/search',
    query: { count: RECENT_RUNS },
  });
  const runs = data?.runs ?? [];
  const payloads: readonly RecentPayload[] = runs
    .filter(({ workflowUrl }) => workflowUrl === url.trim())
    .slice(0, RECENT_PAYLOADS)
    .map(({ workflowRunId: runId, workflowRunCreatedAt: createdAt, workflowState }) => ({
      key: `${runId} ${createdAt}`,
      text: `${exactTime(createdAt, 'local')}, ${RUN_STATES[workflowState].text}, ${runId}`,
      runId,
      createdAt,
    }));
  return {
    urls: [...new Set(runs.map(({ workflowUrl }) => workflowUrl))],
    payloads,
    /** Returns the payload of a run as text; null if it is binary, no longer stored, or cannot be loaded. */
    async loadPayload({ runId, createdAt }: RecentPayload): Promise<string | null> {
      const outcome = await client.fetchQuery({
        queryKey: [instanceId, 'input-of-run', runId, createdAt],
        queryFn: () =>
          request<RunJournal>(path`/v2/workflows/runs/${runId}`, { instanceId, query: { workflowCreatedAt: createdAt } }),
        staleTime: Number.POSITIVE_INFINITY,
      });
      if (!outcome.ok) {
        toastFailure(outcome.failure);
        return null;
      }
      const { body } = valueIn(outcome).input ?? {};
      return body === undefined ? null : prettyJson(body);
    },
  };
}
