/** Labels of a run, as chips. */
export function Labels({ labels }: { readonly labels: readonly string[] }) {
  if (labels.length === 0) return null;
  return (
    <ul className="labels" aria-label="Labels">
      {labels.map((label) => (
        <li key={label} className="chip" title={label}>
          {label}
        </li>
      ))}
    </ul>
  );
}
