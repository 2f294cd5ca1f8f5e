/** The way to a run. An id may be used again after a run has ended, so the time of creation goes along. */
import { Link, useRouter } from '@tanstack/react-router';
import { type MouseEvent, type ReactNode, use } from 'react';
import { path } from '../api/client.js';
import { useQueueId } from '../api/instances.js';
import { stringifySearch } from '../search-parameters.js';
import { InTable } from './in-table.js';

const TAIL = 6;

export interface RunLinkProps {
  readonly runId: string;
  /** Unix ms; absent: the latest run with the id. */
  readonly createdAt?: number | undefined;
  readonly children?: ReactNode;
}

export function RunLink({ runId, createdAt, children }: RunLinkProps) {
  const queueId = useQueueId();
  const inTable = use(InTable);
  const search: Readonly<Record<string, string>> = createdAt === undefined ? {} : { createdAt: String(createdAt) };
  const text = children ?? (
    // Ids that are made begin with the time: their ends tell them apart.
    <span className="ends">
      <span className="ends-first clip">{runId.slice(0, -TAIL)}</span>
      <span className="ends-last">{runId.slice(-TAIL)}</span>
    </span>
  );
  if (inTable)
    return (
      <RowLink href={path`/q/${queueId}/runs/${runId}` + stringifySearch(search)} title={runId}>
        {text}
      </RowLink>
    );
  return (
    <Link to="/q/$queueId/runs/$runId" params={{ queueId, runId }} search={search} className="mono run-link" title={runId}>
      {text}
    </Link>
  );
}

interface RowLinkProps {
  readonly href: string;
  readonly title: string;
  readonly children: ReactNode;
}

/** As the link of the router, without what that one watches for each of them: rows are made by the hundred. */
function RowLink({ href, title, children }: RowLinkProps) {
  const router = useRouter();
  const onClick = (event: MouseEvent) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ href });
  };
  return (
    <a href={href} className="mono run-link" title={title} tabIndex={-1} onClick={onClick}>
      {children}
    </a>
  );
}
