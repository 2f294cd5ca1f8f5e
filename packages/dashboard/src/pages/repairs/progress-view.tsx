/** A repair that was started: progress, the first few and what they say, what can be done, items; at the end the report. */
import { Link } from '@tanstack/react-router';
import type { RepairEntry } from '../../../../everstep/src/contract/repairs.js';
import { useQueueId } from '../../api/instances.js';
import { useNow } from '../../components/clock.js';
import { countText, durationText, exactTime } from '../../components/formats.js';
import { KeptHeight } from '../../components/kept-height.js';
import { TimeText } from '../../components/time-text.js';
import { Controls } from './controls.js';
import { parametersOf } from './covered.js';
import { Covered } from './covered-list.js';
import { ItemsList } from './items-list.js';
import { Figures, ProgressBar } from './progress-bar.js';
import { WordsBadge } from './repair-badges.js';
import { canaryVerdict, durationAtRateMs, endedOf, isOver, rateText, standing } from './repair-words.js';

export function ProgressView({ repair }: { readonly repair: RepairEntry }) {
  const { counts, action, state, stopReason } = repair;
  const bad = state === 'stopped' || (state === 'paused' && stopReason !== 'paused-by-hand');
  return (
    <div className="stack">
      <section className="card" aria-labelledby="repair-progress">
        <div className="card-head">
          <h2 id="repair-progress">{isOver(repair) ? 'Report' : 'Progress'}</h2>
          <span className="muted numeric">
            {countText(endedOf(counts))} of {countText(counts.total)} ended
          </span>
        </div>
        <div className="card-body stack">
          <div
            className="notice repair-standing"
            data-tone={bad ? 'bad' : state === 'done' && counts.failed === 0 ? undefined : 'info'}
          >
            <span role="status">{standing(repair)}</span>
          </div>
          {state === 'undo-window' && repair.undoUntil !== null ? <Countdown until={repair.undoUntil} /> : null}
          <ProgressBar counts={counts} label="Progress of the repair" />
          <Figures counts={counts} action={action} />
          <KeptHeight>{isOver(repair) ? <After repair={repair} /> : <Controls repair={repair} />}</KeptHeight>
        </div>
      </section>
      <Canary repair={repair} />
      <section className="card" aria-labelledby="repair-facts">
        <div className="card-head">
          <h2 id="repair-facts">How it was set up</h2>
        </div>
        <div className="card-body stack">
          <Facts repair={repair} />
          <details>
            <summary>What it covers</summary>
            <Covered filter={repair.filter} />
          </details>
        </div>
      </section>
      <ItemsList repair={repair} />
    </div>
  );
}

function Countdown({ until }: { readonly until: number }) {
  const now = useNow();
  const left = Math.max(0, Math.floor((until - now) / 1000) * 1000);
  return (
    <p className="line">
      <span className="countdown" role="timer" aria-label="Until it is deleted">
        {left === 0 ? 'Now' : durationText(left)}
      </span>
      <span className="muted">until {exactTime(until, 'local')}; nothing is deleted before.</span>
    </p>
  );
}

function Canary({ repair }: { readonly repair: RepairEntry }) {
  const { canary } = repair;
  const verdict = canaryVerdict(repair);
  if (canary === null || verdict === null) return null;
  const open = canary.total - canary.ended;
  return (
    <section className="card" aria-labelledby="repair-canary">
      <div className="card-head">
        <div className="line">
          <h2 id="repair-canary">The first {countText(canary.total)}</h2>
          <WordsBadge words={verdict.words} />
        </div>
        {open === 0 || isOver(repair) ? null : (
          <span className="muted">{canary.thenContinue ? 'The rest follows by itself' : 'The rest waits until you say so'}</span>
        )}
      </div>
      <div className="card-body stack">
        <p className="canary-verdict">{verdict.text}.</p>
        <ProgressBar
          label="Progress of the first ones"
          counts={{
            total: canary.total,
            succeeded: canary.succeeded,
            failed: canary.failed,
            canceled: 0,
            gone: canary.ended - canary.succeeded - canary.failed,
            started: 0,
            pending: open,
          }}
        />
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
        <dd>{createdBy ?? <span className="muted">not known</span>}</dd>
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
      {/* One takes the place of the other. */}
      {startedAt !== null && endedAt !== null ? (
        <div>
          <dt>Took</dt>
          <dd>{durationText(endedAt - startedAt)}</dd>
        </div>
      ) : ratePerSecond === null ? null : (
        <div>
          <dt>The rest needs about</dt>
          <dd>{durationText(durationAtRateMs(counts.pending, ratePerSecond))}</dd>
        </div>
      )}
      {plan.oldestAt === null || plan.newestAt === null ? null : (
        <div>
          <dt>Failures of</dt>
          <dd>
            <TimeText unixMs={plan.oldestAt} /> – <TimeText unixMs={plan.newestAt} />
          </dd>
        </div>
      )}
    </dl>
  );
}

/** What one does next, when it is over and something is left. */
function After({ repair }: { readonly repair: RepairEntry }) {
  const queueId = useQueueId();
  const { counts, action, filter } = repair;
  const left = counts.pending + (action === 'delete' ? 0 : counts.failed);
  // Those that failed again are other dead letters, and in the next plan where they failed alike.
  const again = filter.dlqIds === undefined || counts.pending > 0;
  return (
    <div className="line">
      {left === 0 || !again ? null : (
        <Link className="button" to="/q/$queueId/repairs/new" params={{ queueId }} search={{ ...parametersOf(filter), action }}>
          {counts.pending === 0
            ? 'Plan again for those that failed alike'
            : `Plan again for the other ${countText(counts.pending)}`}
        </Link>
      )}
      <Link className="button button-quiet" to="/q/$queueId/dead-letters" params={{ queueId }}>
        To the dead letters
      </Link>
    </div>
  );
}
