/** Labels of a run. Each is a link to the rows that have it. */
import { Link } from '@tanstack/react-router';
import { use } from 'react';
import { path } from '../api/client.js';
import { useInstanceId } from '../api/instances.js';
import { stringifySearch } from '../search-parameters.js';
import { InTableContext } from './tables/in-table.js';
import { RowLink } from './tables/row-link.js';

export interface LabelsProps {
  readonly labels: readonly string[];
  /** Maximum number of labels to show, in one line. The number of the others is shown after them. */
  readonly max?: number;
  /** Page that a label leads to. Default: `runs`. */
  readonly page?: 'runs' | 'dead-letters';
}

/** A filter is a comma-separated list, so a label with a comma is written as JSON. */
const parameterOf = (label: string): string => (label.includes(',') ? JSON.stringify([label]) : label);

export function Labels({ labels, max, page = 'runs' }: LabelsProps) {
  const instanceId = useInstanceId();
  const inTable = use(InTableContext);
  if (labels.length === 0) return null;
  const shownLabels = labels.slice(0, max);
  const hiddenLabels = labels.slice(shownLabels.length);
  const linkTo = (label: string) => {
    const search: Readonly<Record<string, string>> = {
      ...(page === 'dead-letters' ? { view: 'entries' } : {}),
      label: parameterOf(label),
    };
    if (inTable)
      return (
        <RowLink href={path`/q/${instanceId}/` + page + stringifySearch(search)} className="label-link">
          {label}
        </RowLink>
      );
    return (
      <Link to={`/q/$instanceId/${page}`} params={{ instanceId }} search={search} className="label-link">
        {label}
      </Link>
    );
  };
  return (
    <ul className="labels" data-one-line={max === undefined ? undefined : ''} aria-label="Labels">
      {shownLabels.map((label) => (
        <li key={label} className="chip" title={`Show ${page === 'runs' ? 'runs' : 'dead letters'} with the label ${label}`}>
          {linkTo(label)}
        </li>
      ))}
      {hiddenLabels.length === 0 ? null : (
        <li className="labels-others" title={hiddenLabels.join(', ')}>
          +{hiddenLabels.length}
        </li>
      )}
    </ul>
  );
}
