/** Link to the page of a workflow, shown as its URL. */
import { Link } from '@tanstack/react-router';
import { type ReactNode, use } from 'react';
import { path } from '../../api/client.js';
import { useInstanceId } from '../../api/instances.js';
import { stringifySearch } from '../../search-parameters.js';
import { InTableContext } from '../tables/in-table.js';
import { RowLink } from '../tables/row-link.js';
import { UrlText } from '../url-text.js';

/** Returns the path of the page of a workflow. `window` is the time range of the page; without it, the page uses its default. */
export const workflowPath = (instanceId: string, url: string, window?: string): string =>
  path`/q/${instanceId}/workflow` + stringifySearch({ url, window });

export interface WorkflowLinkProps {
  readonly url: string;
  /** Content of the link. Default: the URL, path first. */
  readonly children?: ReactNode;
}

export function WorkflowLink({ url, children = <UrlText url={url} /> }: WorkflowLinkProps) {
  const instanceId = useInstanceId();
  const inTable = use(InTableContext);
  const title = `Insights for workflow ${url}`;
  if (inTable)
    return (
      <RowLink href={workflowPath(instanceId, url)} className="workflow-link" title={title}>
        {children}
      </RowLink>
    );
  return (
    <Link to="/q/$instanceId/workflow" params={{ instanceId }} search={{ url }} className="workflow-link" title={title}>
      {children}
    </Link>
  );
}
