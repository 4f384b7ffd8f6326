// Virtual calls, exceptions, strings, maps, threads and streams of the C++ library.
#include <atomic>
#include <iostream>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape {
    double side;
    explicit Square(double s) : side(s) { if (s < 0) throw std::invalid_argument("side"); }
    double area() const override { return side * side; }
};

int main(int argc, char **argv) {
    std::map<std::string, std::unique_ptr<Shape>> shapes;
    std::atomic<long> count{0};
    try {
        for (int i = 0; i < argc; i++) {
            shapes[argv[i]] = std::make_unique<Square>(std::stod(std::to_string(3 - i)));
            count.fetch_add(std::string(argv[i]).find("ab") != std::string::npos);
        }
    } catch (const std::exception &e) {
        std::cerr << e.what() << '\n';
    }
    for (const auto &[name, shape] : shapes) std::cout << name << ' ' << shape->area() << '\n';
    return static_cast<int>(count.load());
}
