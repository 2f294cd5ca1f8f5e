import { PageTitle } from '../../components/page-title.js';

export default function SearchIndexPage() {
  return <PageTitle title="Search index" />;
}
