/** A list of names and values. Empty values are omitted. */
import type { ReactNode } from 'react';

export interface DescriptionListProps {
  readonly items: readonly (readonly [name: string, value: ReactNode])[];
}

export function DescriptionList({ items }: DescriptionListProps) {
  return (
    <dl className="facts">
      {items.map(([name, value]) =>
        value === null || value === undefined || value === '' ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}
