/** The dead letter queue: what failed, grouped by what went wrong, or entry by entry. */
import './dead-letters.css';
import { Link, useSearch } from '@tanstack/react-router';
import { useQueueId } from '../../api/instances.js';
import { PageTitle } from '../../components/page-title.js';
import { without } from './choice.js';
import { EntriesView } from './entries-view.js';
import { GroupsView } from './groups-view.js';

export default function DeadLettersPage() {
  const queueId = useQueueId();
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const entries = search.view === 'entries';
  return (
    <>
      <PageTitle
        title="Dead letters"
        lead="Runs that failed for good. Choose what belongs together, plan a repair, try it on a few, then do the rest."
      />
      <div className="dlq-head">
        <nav className="segmented" aria-label="View of the queue">
          <Link
            to="/q/$queueId/dead-letters"
            params={{ queueId }}
            search={(before) => without(before, 'view', 'fingerprint')}
            activeOptions={{ includeSearch: true, exact: true }}
            activeProps={{}}
            aria-current={entries ? undefined : 'page'}
          >
            By error
          </Link>
          <Link
            to="/q/$queueId/dead-letters"
            params={{ queueId }}
            search={(before) => ({ ...without(before, 'state'), view: 'entries' })}
            activeProps={{}}
            aria-current={entries ? 'page' : undefined}
          >
            One by one
          </Link>
        </nav>
      </div>
      {entries ? <EntriesView /> : <GroupsView />}
    </>
  );
}
