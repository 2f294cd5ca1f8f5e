/** View of a started repair: progress or final report, canary, controls, details and results. */
import { Link } from '@tanstack/react-router';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { useInstanceId } from '../../api/instances.js';
import { NonShrinkingBox } from '../../components/non-shrinking-box.js';
import { actorName } from '../../components/people/actor-name.js';
import { useNow } from '../../components/times/clock.js';
import { countText, durationText, exactTime, quantity } from '../../components/times/formats.js';
import { TimeText } from '../../components/times/time-text.js';
import { parametersOf } from '../dead-letters/entry-filters.js';
import { Controls } from './controls.js';
import { ItemsList } from './items-list.js';
import { Figures, ProgressBar } from './progress-bar.js';
import { TextBadge } from './repair-badges.js';
import { RepairScope } from './repair-scope.js';
import {
  canaryVerdict,
  durationAtRateMs,
  endedCount,
  groupVerdict,
  isOver,
  rateText,
  replanText,
  statusText,
} from './repair-text.js';

export function ProgressView({ repair }: { readonly repair: RepairEntry }) {
  const { counts, action, state, stopReason } = repair;
  const needsAttention = state === 'stopped' || (state === 'paused' && stopReason !== 'paused-by-hand');
  return (
    <div className="stack">
      <section className="card" aria-labelledby="repair-progress">
        <div className="card-head">
          <h2 id="repair-progress">{isOver(repair) ? 'Report' : 'Progress'}</h2>
          <span className="muted numeric">
            {countText(endedCount(counts))} of {countText(counts.total)} processed
          </span>
        </div>
        <div className="card-body stack">
          <div
            className="notice repair-status"
            data-tone={needsAttention ? 'bad' : state === 'done' && counts.failed === 0 ? undefined : 'info'}
          >
            <span role="status">{statusText(repair)}</span>
          </div>
          {state === 'undo-window' && repair.undoUntil !== null ? <Countdown until={repair.undoUntil} /> : null}
          <ProgressBar counts={counts} label="Progress of the repair" />
          <Figures counts={counts} action={action} />
          <NonShrinkingBox>{isOver(repair) ? <NextSteps repair={repair} /> : <Controls repair={repair} />}</NonShrinkingBox>
        </div>
      </section>
      <Canary repair={repair} />
      <section className="card" aria-labelledby="repair-facts">
        <div className="card-head">
          <h2 id="repair-facts">Details</h2>
        </div>
        <div className="card-body stack">
          <Facts repair={repair} />
          <details>
            <summary>Selected dead letters</summary>
            <RepairScope filter={repair.filter} />
          </details>
        </div>
      </section>
      <ItemsList repair={repair} />
    </div>
  );
}

function Countdown({ until }: { readonly until: number }) {
  const now = useNow();
  const remainingMs = Math.max(0, Math.floor((until - now) / 1000) * 1000);
  return (
    <p className="line">
      <span className="countdown" role="timer" aria-label="Time until deletion">
        {remainingMs === 0 ? 'Now' : durationText(remainingMs)}
      </span>
      <span className="muted">until {exactTime(until, 'local')}. Nothing is deleted before that.</span>
    </p>
  );
}

function Canary({ repair }: { readonly repair: RepairEntry }) {
  const { canary } = repair;
  const verdict = canaryVerdict(repair);
  if (canary === null || verdict === null) return null;
  const openCount = canary.total - canary.ended;
  return (
    <section className="card" aria-labelledby="repair-canary">
      <div className="card-head">
        <div className="line">
          <h2 id="repair-canary">Canary ({countText(canary.total)})</h2>
          <TextBadge badge={verdict.badge} />
        </div>
        {openCount === 0 || isOver(repair) ? null : (
          <span className="muted">{canary.thenContinue ? 'Then continues automatically' : 'Then waits for approval'}</span>
        )}
      </div>
      <div className="card-body stack">
        <p className="canary-verdict">{verdict.text}.</p>
        <ProgressBar
          label="Progress of the canary"
          counts={{
            total: canary.total,
            succeeded: canary.succeeded,
            failed: canary.failed,
            canceled: 0,
            gone: canary.ended - canary.succeeded - canary.failed,
            started: 0,
            pending: openCount,
          }}
        />
        {canary.groups.length < 2 ? null : (
          <ul className="canary-groups">
            {canary.groups.map((group) => {
              const { badge, text, name } = groupVerdict(group);
              return (
                <li key={group.fingerprint ?? ''}>
                  <TextBadge badge={badge} /> <span>{text}:</span> <span className="mono">{name}</span>
                </li>
              );
            })}
          </ul>
        )}
      </div>
    </section>
  );
}

function Facts({ repair }: { readonly repair: RepairEntry }) {
  const { ratePerSecond, counts, startedAt, endedAt, createdBy, plan } = repair;
  return (
    <dl className="facts">
      {ratePerSecond === null ? null : (
        <div>
          <dt>Rate</dt>
          <dd>{rateText(ratePerSecond)}</dd>
        </div>
      )}
      <div>
        <dt>Planned by</dt>
        <dd>{createdBy === null ? <span className="muted">unknown</span> : actorName(createdBy)}</dd>
      </div>
      {startedAt === null ? null : (
        <div>
          <dt>Started</dt>
          <dd>
            <TimeText unixMs={startedAt} />
          </dd>
        </div>
      )}
      <div>
        <dt>Ended</dt>
        <dd>{endedAt === null ? <span className="muted">not yet</span> : <TimeText unixMs={endedAt} />}</dd>
      </div>
      {/* The duration replaces the estimate when the repair ends. */}
      {startedAt !== null && endedAt !== null ? (
        <div>
          <dt>Duration</dt>
          <dd>{durationText(endedAt - startedAt)}</dd>
        </div>
      ) : ratePerSecond === null ? null : (
        <div>
          <dt>Estimated time left</dt>
          <dd>{durationText(durationAtRateMs(counts.pending, ratePerSecond))}</dd>
        </div>
      )}
      {plan.oldestAt === null || plan.newestAt === null ? null : (
        <div>
          <dt>Failures between</dt>
          <dd>
            <TimeText unixMs={plan.oldestAt} /> – <TimeText unixMs={plan.newestAt} />
          </dd>
        </div>
      )}
    </dl>
  );
}

/** Next steps after the end of a repair that left some dead letters. */
function NextSteps({ repair }: { readonly repair: RepairEntry }) {
  const instanceId = useInstanceId();
  const { counts, action, filter } = repair;
  const isListOfIds = filter.dlqIds !== undefined;
  const linkText = replanText(repair, isListOfIds);
  return (
    <div className="line">
      {linkText === null ? null : (
        <Link
          className="button"
          to="/q/$instanceId/repairs/new"
          params={{ instanceId }}
          search={{ ...parametersOf(filter), action }}
        >
          {linkText}
        </Link>
      )}
      <Link className="button button-quiet" to="/q/$instanceId/dead-letters" params={{ instanceId }}>
        View dead letters
      </Link>
      {isListOfIds && action !== 'delete' && counts.failed > 0 ? (
        <span className="muted">
          {quantity(counts.failed, 'run')} failed again.{' '}
          {counts.failed === 1 ? 'Its new dead letter is' : 'Their new dead letters are'} not part of this repair.
        </span>
      ) : null}
    </div>
  );
}
