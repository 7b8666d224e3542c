# The cells of a check, one a line, for a node that is told on standard input:
#   memory N PACKAGE          host memory of NUMA node N
#   gpu G NUMA PACKAGE        GPU G and the NUMA node that the kernel says it is near to; '-' where it does not say
# Called with -v check=NAME. The rules are those of nearfar/cells; what takes path classes between GPUs (rounds of disjoint pairs) or the cores
# of a NUMA node is not asked. A test holds the lists against nearfar's questions.

function flow(from, to) { return from ":" to }
function down(m, g) { return flow("n" m, "g" g) }
function up(m, g) { return flow("g" g, "n" m) }

# The nearest memory of a GPU: its own, else the first of its package, else the first; in turns where nothing is known.
function near(g,    i) {
    if (numa[g] == "-") return memory[g % memories]
    for (i = 0; i < memories; i++) if (memory[i] == numa[g]) return memory[i]
    for (i = 0; i < memories; i++) if (home[memory[i]] == package[g]) return memory[i]
    return memory[0]
}

# One load: the GPUs member[0..count-1] with the memories with_memory[], in one direction or both; tasks as " /x2" says.
function load(count, way, tasks,    i, cell) {
    cell = ""
    for (i = 0; i < count; i++) {
        if (way != "d2h") cell = cell (cell == "" ? "" : "+") down(with_memory[i], member[i]) tasks
        if (way != "h2d") cell = cell (cell == "" ? "" : "+") up(with_memory[i], member[i]) tasks
    }
    if (!(cell in said)) print cell
    said[cell] = 1
}

# Numbers of GPUs of a ramp: each, or with many the powers of two and all. Sets step[]; returns how many there are.
function steps(most,    n, power) {
    n = 0
    if (most <= few) { for (power = 1; power <= most; power++) step[n++] = power; return n }
    for (power = 1; power < most; power *= 2) step[n++] = power
    step[n++] = most
    return n
}

# Sets member[] and with_memory[] to the GPUs of one package; returns how many.
function of_package(p,    g, n) {
    n = 0
    for (g = 0; g < gpus; g++) if (package[g] == p) { member[n] = g; with_memory[n] = near(g); n++ }
    return n
}

# The same of all GPUs, a package's turn after the other's.
function spread(    turn, p, g, n, seen) {
    n = 0
    for (turn = 0; turn < gpus; turn++)
        for (p = 0; p < packages; p++) {
            seen = 0
            for (g = 0; g < gpus; g++)
                if (package[g] == order[p] && seen++ == turn) { member[n] = g; with_memory[n] = near(g); n++ }
        }
    return n
}

# Each package's GPUs with the next package's memory (from < 0: of all packages). Returns how many.
function far(from,    p, g, i, other, found, n, place) {
    n = 0
    for (p = 0; p < packages; p++) {
        if (from >= 0 && p != from) continue
        other = homes[0] > order[p] || homes[0] != order[p] ? homes[0] : homes[1]
        for (i = 0; i < home_count; i++) if (homes[i] > order[p]) { other = homes[i]; break }
        found = 0
        for (i = 0; i < memories; i++) if (home[memory[i]] == other) place[found++] = memory[i]
        i = 0
        for (g = 0; g < gpus; g++) if (package[g] == order[p]) { member[n] = g; with_memory[n] = place[i++ % found]; n++ }
    }
    return n
}

function first_of_package(g,    other) {
    for (other = 0; other < g; other++) if (package[other] == package[g]) return 0
    return 1
}

function path_class(m, g) {
    if (memories == 1) return "sole"
    if (numa[g] == "-") return "unknown"
    if (m == numa[g]) return "near"
    return home[m] == package[g] ? "on_socket" : "off_socket"
}

function saturation(    w, n, k, i, p) {
    if (gpus == 1) return
    split("h2d d2h both", ways, " ")
    for (w = 1; w <= 3; w++) {
        n = spread(); k = steps(n)
        for (i = 0; i < k; i++) load(step[i], ways[w], "")
        if (packages < 2 || unknown) continue
        for (p = 0; p < packages; p++) {
            n = of_package(order[p]); k = steps(n)
            for (i = p == 0 && gpus <= few ? 0 : k - 1; i < k; i++) if (step[i] > 1) load(step[i], ways[w], "")
        }
        if (home_count < 2) continue
        for (p = 0; p < packages && gpus <= few; p++) load(far(p), ways[w], "")
        load(far(-1), ways[w], "")
    }
}

function sharing(    w, n, t, i, kept) {
    split("h2d d2h", ways, " ")
    n = spread()
    if (gpus > few) {
        kept = 0
        for (i = 0; i < n; i++) if (first_of_package(member[i])) { member[kept] = member[i]; with_memory[kept] = with_memory[i]; kept++ }
        n = kept
    }
    for (w = 1; w <= 2; w++)
        for (t = 1; t <= 4; t++) if (t != 3 || gpus <= few) load(n, ways[w], t == 1 ? "" : "/x" t)
}

function host_device(    g, i, m, own) {
    for (g = 0; g < gpus; g++)
        for (i = 0; i < memories; i++) {
            m = memory[i]
            print down(m, g); print up(m, g)
            own = m == near(g) || path_class(m, g) == "unknown"
            if (gpus <= few || own || first_of_package(g)) print down(m, g) "+" up(m, g)
        }
    if (gpus > 0 && memories > 0) print down(near(0), 0) "/pageable"
}

function peers(    a, b, others, half) {
    if (gpus > 8) { # neighbours alone
        for (a = 0; a + 1 < gpus; a++) { print "g" a ":g" a + 1; print "g" a + 1 ":g" a }
        return
    }
    for (a = 0; a < gpus; a++)
        for (b = a + 1; b < gpus; b++) {
            print "g" a ":g" b; print "g" b ":g" a
            print "g" a ":g" b "@g" b; print "g" b ":g" a "@g" a
            if (gpus <= few || a + b == 1) print "g" a ":g" b "+g" b ":g" a
            if (gpus <= 4 || a + b == 1) {
                print "g" a ":g" b "/staged"; print "g" b ":g" a "/staged"
                print "g" a ":g" b "/staged+g" b ":g" a "/staged"
            }
        }
    if (gpus < 4 || gpus % 2) return
    half = gpus / 2
    there = back = both = ""
    for (a = 0; a < half; a++) {
        there = there (a ? "+" : "") "g" a ":g" a + half
        back = back (a ? "+" : "") "g" a + half ":g" a
        both = both (a ? "+" : "") "g" a ":g" a + half "+g" a + half ":g" a
    }
    print there; print back; print both
}

# One cell of each path class for the first GPU of each package (many: of the first alone), and the first pair of GPUs.
function sweep(    g, i, m, key) {
    for (g = 0; g < gpus; g++) {
        if (!first_of_package(g) || (gpus > few && g > 0)) continue
        for (i = 0; i < memories; i++) {
            m = memory[i]
            key = g " " path_class(m, g)
            if (!(key in said)) { print down(m, g); print up(m, g) }
            said[key] = 1
        }
    }
    if (gpus > 1) print "g0:g1"
}

function latencies(    g, i, a, b) {
    for (g = 0; g < gpus; g++)
        for (i = 0; i < memories; i++) if (gpus <= few || first_of_package(g)) print down(memory[i], g)
    for (a = 0; a < gpus; a++)
        for (b = a + 1; b < gpus; b++) if (gpus <= few) { print "g" a ":g" b; print "g" b ":g" a }
}

function single_paths(most,    g, i, a, b) {
    for (g = 0; g < gpus; g++) for (i = 0; i < memories; i++) { print down(memory[i], g); print up(memory[i], g) }
    for (a = 0; a < gpus && gpus <= most; a++)
        for (b = a + 1; b < gpus; b++) {
            print "g" a ":g" b; print "g" b ":g" a
            print "g" a ":g" b "@g" b; print "g" b ":g" a "@g" a
        }
}

function gpu_memory(    g, all) {
    for (g = 0; g < gpus; g++) { print "g" g ":g" g "/triad"; all = all (g ? "+" : "") "g" g ":g" g "/triad" }
    if (gpus > 1) print all
}

function host_memory(    i, j, all) {
    for (i = 0; i < memories; i++) {
        for (j = 0; j < memories; j++) print "c" memory[i] ":n" memory[j] "/triad"
        all = all (i ? "+" : "") "c" memory[i] ":n" memory[i] "/triad"
    }
    if (memories > 1) print all
}

function topology(    g) { for (g = 0; g < gpus && memories; g++) print down(numa[g] == "-" ? memory[0] : near(g), g) }

$1 == "memory" { memory[memories++] = $2; home[$2] = $3 }
$1 == "gpu" { numa[$2] = $3; package[$2] = $4; gpus++ }

END {
    few = 6 # as nearfar/cells/many_gpus.py has it
    unknown = 0
    for (g = 0; g < gpus; g++) {
        if (package[g] == "-") unknown = 1
        if (!(package[g] in met)) { met[package[g]] = 1; order[packages++] = package[g] }
    }
    for (i = 0; i < memories; i++) if (home[memory[i]] != "-" && !(home[memory[i]] in lives)) { lives[home[memory[i]]] = 1; homes[home_count++] = home[memory[i]] }
    # Packages by number.
    for (i = 0; i < packages; i++) for (j = i + 1; j < packages; j++) if (order[j] + 0 < order[i] + 0) { t = order[i]; order[i] = order[j]; order[j] = t }
    for (i = 0; i < home_count; i++) for (j = i + 1; j < home_count; j++) if (homes[j] + 0 < homes[i] + 0) { t = homes[i]; homes[i] = homes[j]; homes[j] = t }
    if (check == "host_memory_check") host_memory()
    else if (check == "topology_check") topology()
    else if (check == "quick_check" || check == "tail_check") single_paths(check == "tail_check" ? few : 8)
    else if (check == "host_device_check") host_device()
    else if (check == "peer_check") peers()
    else if (check == "gpu_memory_check") gpu_memory()
    else if (check == "saturation_check") saturation()
    else if (check == "sharing_check") sharing()
    else if (check == "size_sweep_check") sweep()
    else if (check == "latency_check") latencies()
}
