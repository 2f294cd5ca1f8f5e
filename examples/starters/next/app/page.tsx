export default function Page() {
  return (
    <p>
      The workflow endpoint is <code>/order</code>.
    </p>
  );
}
