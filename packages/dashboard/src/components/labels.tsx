/** Labels of a run, as chips. */
export interface LabelsProps {
  readonly labels: readonly string[];
  /** In one line, and no more than so many; how many others there are is told. */
  readonly most?: number;
}

export function Labels({ labels, most }: LabelsProps) {
  if (labels.length === 0) return null;
  const shown = labels.slice(0, most);
  const others = labels.slice(shown.length);
  return (
    <ul className="labels" data-one-line={most === undefined ? undefined : ''} aria-label="Labels">
      {shown.map((label) => (
        <li key={label} className="chip" title={label}>
          {label}
        </li>
      ))}
      {others.length === 0 ? null : (
        <li className="labels-others" title={others.join(', ')}>
          +{others.length}
        </li>
      )}
    </ul>
  );
}
