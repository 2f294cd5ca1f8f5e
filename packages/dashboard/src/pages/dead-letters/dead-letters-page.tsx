/** The dead letter queue, grouped by error or as individual entries. */
import './dead-letters.css';
import { Link, useSearch } from '@tanstack/react-router';
import { useInstanceId } from '../../api/instances.js';
import { PageTitle } from '../../components/page-title.js';
import { EntriesView } from './entries-view.js';
import { GroupsView } from './groups-view.js';
import { omitParameters } from './plan-parameters.js';

export default function DeadLettersPage() {
  const instanceId = useInstanceId();
  const search: Readonly<Record<string, string>> = useSearch({ strict: false });
  const showsEntries = search.view === 'entries';
  return (
    <>
      <PageTitle
        title="Dead letters"
        lead="Runs that failed permanently. Select related failures, plan a repair, test it on a few, then repair the rest."
        actions={
          <nav className="segmented" aria-label="View">
            <Link
              to="/q/$instanceId/dead-letters"
              params={{ instanceId }}
              search={(before) => omitParameters(before, 'view', 'fingerprint')}
              activeOptions={{ includeSearch: true, exact: true }}
              activeProps={{}}
              aria-current={showsEntries ? undefined : 'page'}
            >
              By error
            </Link>
            <Link
              to="/q/$instanceId/dead-letters"
              params={{ instanceId }}
              search={(before) => ({ ...omitParameters(before, 'state'), view: 'entries' })}
              activeProps={{}}
              aria-current={showsEntries ? 'page' : undefined}
            >
              Entries
            </Link>
          </nav>
        }
      />
      {showsEntries ? <EntriesView /> : <GroupsView />}
    </>
  );
}
