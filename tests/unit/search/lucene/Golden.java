import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.AnalyzerWrapper;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.*;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * Answers queries with Lucene itself. Reads one JSON object a line: {"documents": [{field: text}], "queries": [OpenSearch query]};
 * prints one array a line: for each query the hits in order as [document, score, document, score, ...].
 * Or {"texts": [...]}, and prints the terms of each. Fields named "k..." are keywords.
 */
public class Golden {
  static final ObjectMapper JSON = new ObjectMapper();
  static final Analyzer STANDARD = new StandardAnalyzer();
  /** OpenSearch leaves 100 positions between two values of a text field; Lucene by itself leaves none. */
  static final Analyzer ANALYZER = new AnalyzerWrapper(Analyzer.PER_FIELD_REUSE_STRATEGY) {
    @Override protected Analyzer getWrappedAnalyzer(String field) { return STANDARD; }
    @Override public int getPositionIncrementGap(String field) { return 100; }
  };

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = JSON.readTree(line);
      out.println(JSON.writeValueAsString(request.has("texts") ? terms(request.get("texts")) : answers(request)));
    }
  }

  static ArrayNode terms(JsonNode texts) throws Exception {
    ArrayNode found = JSON.createArrayNode();
    for (JsonNode text : texts) found.add(JSON.valueToTree(analyzed("f", text.asText())));
    return found;
  }

  static ArrayNode answers(JsonNode request) throws Exception {
    ArrayNode answers = JSON.createArrayNode();
    try (ByteBuffersDirectory directory = new ByteBuffersDirectory()) {
      IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(ANALYZER));
      for (JsonNode source : request.get("documents")) writer.addDocument(document(source));
      writer.forceMerge(1);
      writer.close();
      try (DirectoryReader reader = DirectoryReader.open(directory)) {
        IndexSearcher searcher = new IndexSearcher(reader);
        for (JsonNode query : request.get("queries")) answers.add(hits(searcher, query(query, searcher)));
      }
    }
    return answers;
  }

  static Document document(JsonNode source) {
    Document document = new Document();
    source.fields().forEachRemaining(field -> {
      Iterable<JsonNode> values = field.getValue().isArray() ? field.getValue() : List.of(field.getValue());
      for (JsonNode value : values) {
        document.add(field.getKey().startsWith("k")
            ? new StringField(field.getKey(), value.asText(), Field.Store.NO)
            : new TextField(field.getKey(), value.asText(), Field.Store.NO));
      }
    });
    return document;
  }

  static ArrayNode hits(IndexSearcher searcher, Query query) throws Exception {
    ArrayNode found = JSON.createArrayNode();
    for (ScoreDoc hit : searcher.search(query, Math.max(1, searcher.getIndexReader().maxDoc())).scoreDocs) {
      found.add(hit.doc).add(hit.score);
    }
    return found;
  }

  static List<String> analyzed(String field, String text) throws Exception {
    List<String> terms = new ArrayList<>();
    try (TokenStream stream = ANALYZER.tokenStream(field, text)) {
      CharTermAttribute term = stream.addAttribute(CharTermAttribute.class);
      stream.reset();
      while (stream.incrementToken()) terms.add(term.toString());
      stream.end();
    }
    return terms;
  }

  static Query query(JsonNode node, IndexSearcher searcher) throws Exception {
    String name = node.fieldNames().next();
    JsonNode body = node.get(name);
    Query query = body(name, body, searcher);
    return new BoostQuery(query, weight(name, body));
  }

  static float weight(String name, JsonNode body) {
    boolean named = List.of("match", "match_phrase", "match_phrase_prefix", "term", "prefix", "wildcard", "range").contains(name);
    JsonNode holder = named ? body.elements().next() : body;
    return holder.has("boost") ? (float) holder.get("boost").asDouble() : 1f;
  }

  static Query body(String name, JsonNode body, IndexSearcher searcher) throws Exception {
    switch (name) {
      case "match_all": return new MatchAllDocsQuery();
      case "bool": return bool(body, searcher);
      case "constant_score": return new ConstantScoreQuery(query(body.get("filter"), searcher));
      case "multi_match": return multiMatch(body, searcher);
      default:
        String field = body.fieldNames().next();
        return leaf(name, field, body.get(field), searcher);
    }
  }

  static Query leaf(String name, String field, JsonNode options, IndexSearcher searcher) throws Exception {
    switch (name) {
      case "match": return match(field, options);
      case "match_phrase": return phrase(field, options.get("query").asText(), options.path("slop").asInt(0));
      case "match_phrase_prefix": return phrasePrefix(field, options, searcher);
      case "term": return term(field, options.get("value").asText());
      case "prefix": return new PrefixQuery(new Term(field, options.get("value").asText()));
      case "wildcard": return new WildcardQuery(new Term(field, options.get("value").asText()));
      case "range": return TermRangeQuery.newStringRange(field, text(options, "gte"), text(options, "lte"), true, true);
      default: throw new IllegalArgumentException(name);
    }
  }

  static String text(JsonNode options, String name) {
    return options.has(name) ? options.get(name).asText() : null;
  }

  /** Keywords score a constant, as in OpenSearch 3. */
  static Query term(String field, String text) {
    Query term = new TermQuery(new Term(field, text));
    return field.startsWith("k") ? new ConstantScoreQuery(term) : term;
  }

  static Query match(String field, JsonNode options) throws Exception {
    if (field.startsWith("k")) return term(field, options.get("query").asText());
    List<String> terms = analyzed(field, options.get("query").asText());
    if (terms.isEmpty()) return new MatchNoDocsQuery();
    if (terms.size() == 1) return term(field, terms.get(0));
    boolean all = options.path("operator").asText("or").equals("and");
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    for (String term : terms) builder.add(term(field, term), all ? BooleanClause.Occur.MUST : BooleanClause.Occur.SHOULD);
    if (options.has("minimum_should_match")) builder.setMinimumNumberShouldMatch(options.get("minimum_should_match").asInt());
    return builder.build();
  }

  static Query phrase(String field, String text, int slop) throws Exception {
    List<String> terms = analyzed(field, text);
    if (terms.isEmpty()) return new MatchNoDocsQuery();
    return terms.size() == 1 ? term(field, terms.get(0)) : new PhraseQuery(slop, field, terms.toArray(new String[0]));
  }

  static Query phrasePrefix(String field, JsonNode options, IndexSearcher searcher) throws Exception {
    List<String> terms = analyzed(field, options.get("query").asText());
    if (terms.isEmpty()) return new MatchNoDocsQuery();
    Term[] last = expanded(new Term(field, terms.remove(terms.size() - 1)), options.path("max_expansions").asInt(50), searcher);
    if (last.length == 0) return new MatchNoDocsQuery();
    MultiPhraseQuery.Builder builder = new MultiPhraseQuery.Builder().setSlop(options.path("slop").asInt(0));
    for (String term : terms) builder.add(new Term(field, term));
    return builder.add(last).build();
  }

  static Term[] expanded(Term prefix, int most, IndexSearcher searcher) throws Exception {
    List<Term> found = new ArrayList<>();
    for (LeafReaderContext leaf : searcher.getIndexReader().leaves()) {
      if (leaf.reader().terms(prefix.field()) == null) continue;
      TermsEnum terms = leaf.reader().terms(prefix.field()).iterator();
      if (terms.seekCeil(prefix.bytes()) == TermsEnum.SeekStatus.END) continue;
      for (BytesRef term = terms.term(); term != null && found.size() < most; term = terms.next()) {
        if (!term.utf8ToString().startsWith(prefix.text())) break;
        found.add(new Term(prefix.field(), BytesRef.deepCopyOf(term)));
      }
    }
    return found.toArray(new Term[0]);
  }

  static Query multiMatch(JsonNode body, IndexSearcher searcher) throws Exception {
    List<Query> queries = new ArrayList<>();
    for (JsonNode each : body.get("fields")) {
      String[] parts = each.asText().split("\\^");
      Query query = match(parts[0], body);
      queries.add(parts.length > 1 ? new BoostQuery(query, Float.parseFloat(parts[1])) : query);
    }
    float rest = body.path("type").asText("best_fields").equals("most_fields") ? 1f : 0f;
    return queries.size() == 1
        ? queries.get(0)
        : new DisjunctionMaxQuery(queries, body.has("tie_breaker") ? (float) body.get("tie_breaker").asDouble() : rest);
  }

  static Query bool(JsonNode body, IndexSearcher searcher) throws Exception {
    BooleanQuery.Builder builder = new BooleanQuery.Builder();
    for (String name : List.of("must", "filter", "should", "must_not")) {
      for (JsonNode clause : body.path(name)) builder.add(query(clause, searcher), BooleanClause.Occur.valueOf(name.toUpperCase()));
    }
    if (body.has("minimum_should_match")) builder.setMinimumNumberShouldMatch(body.get("minimum_should_match").asInt());
    BooleanQuery query = builder.build();
    if (query.clauses().isEmpty()) return new MatchAllDocsQuery();
    if (query.clauses().stream().allMatch(BooleanClause::isProhibited)) {
      return builder.add(new MatchAllDocsQuery(), BooleanClause.Occur.FILTER).build();
    }
    return query;
  }
}
