/** Page of one schedule: its settings, next runs and last run. */
import { useParams } from '@tanstack/react-router';
import type { ScheduleEntry } from '../../../../everstep/src/contract/schedules.js';
import { path } from '../../api/client.js';
import { useApi } from '../../api/queries.js';
import { Card } from '../../components/card.js';
import { CopyId } from '../../components/copy-id.js';
import { DescriptionList, type DescriptionListProps } from '../../components/description-list.js';
import { JsonView } from '../../components/json-view.js';
import { Loaded, NotLoaded } from '../../components/loading/loaded.js';
import { PageTitle } from '../../components/page-title.js';
import { RunLink } from '../../components/run-link.js';
import { StatusBadge } from '../../components/status-badge.js';
import { durationText, LOCAL_ZONE } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { WorkflowUrl } from '../../components/url-text.js';
import { workflowName } from '../../components/urls/workflow-name.js';
import { ScheduleActions } from './schedule-actions.js';
import { ScheduleRuns } from './schedule-runs.js';
import './schedules.css';

const MAX_SHOWN = 5;

function NextRuns({ schedule }: { readonly schedule: ScheduleEntry }) {
  const nextRuns = useApi<{ readonly fires: readonly number[] }>({
    topic: 'schedules',
    name: 'next',
    url: path`/v2/schedules/${schedule.scheduleId}/next`,
    query: { count: MAX_SHOWN },
    refreshMs: 30_000,
  });
  return (
    <Loaded query={nextRuns} lines={MAX_SHOWN}>
      {({ fires }) => (
        <>
          {schedule.isPaused ? <p className="muted">The schedule is paused. If you resume it now, it runs at:</p> : null}
          <ol className="schedule-fires">
            {fires.map((at) => (
              <li key={at}>
                <TimeText unixMs={at} style="exact" />
              </li>
            ))}
          </ol>
        </>
      )}
    </Loaded>
  );
}

export default function SchedulePage() {
  const { scheduleId = '' } = useParams({ strict: false });
  const query = useApi<ScheduleEntry>({
    topic: 'schedules',
    name: 'one',
    url: path`/v2/schedules/${scheduleId}`,
  });
  const schedule = query.data;
  if (schedule === undefined)
    return (
      <>
        <PageTitle title="Schedule" />
        <NotLoaded query={query} lines={8} subject="this schedule" />
      </>
    );
  const { lastScheduleTime, lastScheduleRunId } = schedule;
  const state = schedule.isPaused ? <StatusBadge tone="warn">Paused</StatusBadge> : <StatusBadge tone="good">Active</StatusBadge>;
  const lastStart = lastScheduleTime === undefined ? 'none yet' : <TimeText unixMs={lastScheduleTime} />;
  const lastRun = lastScheduleRunId === undefined ? 'none yet' : <RunLink runId={lastScheduleRunId} />;
  const workflow = <WorkflowUrl url={schedule.destination} valueName="URL" />;
  const cron = <span className="mono">{`${schedule.cron} (${schedule.timezone})`}</span>;
  const creationTime = <TimeText unixMs={schedule.createdAt} />;
  const facts: DescriptionListProps['items'] = [
    ['State', state],
    ['Workflow', workflow],
    ['Cron', cron],
    ['Last start', lastStart],
    ['Last run', lastRun],
    ['Retries per step', String(schedule.retries)],
    ['Delivery timeout', durationText(schedule.timeoutMs)],
    ['Labels', schedule.labels.length === 0 ? 'none' : schedule.labels.join(', ')],
    ['Flow control key', schedule.flowControlKey ?? 'none'],
    ['Failure callback', schedule.failureCallback ?? 'none'],
    ['Created', creationTime],
  ];
  return (
    <>
      <PageTitle
        title={`Schedule for ${workflowName(schedule.destination)}`}
        lead={<CopyId value={scheduleId} valueName="schedule id" />}
        actions={<ScheduleActions schedule={schedule} />}
      />
      <div className="stack">
        <div className="schedule-columns">
          <Card title="Details">
            <DescriptionList items={facts} />
          </Card>
          <Card title={`Next runs (your time zone, ${LOCAL_ZONE})`}>
            <NextRuns schedule={schedule} />
          </Card>
        </div>
        <ScheduleRuns schedule={schedule} />
        <Card title="Run payload">
          {schedule.bodyBase64 === undefined ? (
            <JsonView text={schedule.body ?? ''} label="Payload" />
          ) : (
            <p className="muted">Binary payload</p>
          )}
        </Card>
      </div>
    </>
  );
}
